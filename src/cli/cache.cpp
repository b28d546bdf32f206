#include <filesystem>
#include <iostream>
#include <limits>
#include <utility>

#include "base/strings/printable.h"
#include "base/strings/split.h"
#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/option_groups/interventions.h"
#include "cli/option_groups/prompt_tokens.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/result_files.h"
#include "headlight/datasets/dataset.h"
#include "headlight/formats/model_directory.h"
#include "headlight/interpret/activations/activation_cache.h"
#include "headlight/interpret/activations/activation_files.h"
#include "headlight/interpret/features/top_examples.h"
#include "headlight/show/text/coloured_text.h"
#include "headlight/storage/file_writer.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"

namespace headlight::cli {
namespace {

// Parses a name of one column. Throws Error for other names.
PointRange column_of_name(const std::string& name) {
  const PointRange point = parse_point("names", name);
  const bool is_one_layer = !is_in_layer(point.point) || point.layers.first == point.layers.last;
  require_value(is_one_layer && items_of(point.point) == PointItems::features && point.items &&
                    point.items->first == point.items->last,
                "names", "expected neurons or elements with --html, such as neuron.3.17, got ",
                name);
  return point;
}

std::vector<std::string> labels_of(const std::vector<std::int32_t>& ids,
                                   const Tokenizer& tokenizer) {
  return transformed(ids, [&](std::int32_t id) { return tokenizer.token_label(id); });
}

// Returns the values of a column for all tokens of the texts.
std::vector<double> column_values(const LanguageModel& model, const ActivationContexts& texts,
                                  const PointRange& point) {
  const std::string name = point_name(point.point, point.layers.first);
  for (const auto& [array, values] : cache_activations(model, texts, {.points = {point}})) {
    if (array == name) {
      return values.to_vector();
    }
  }
  fail("--names: this model does not compute ", name);
}

std::string write_page(const Options& options, const ColouredTextPage& page) {
  const std::string path = output_file(options, "html", ".html");
  write_file(path, coloured_text_html(page));
  return path;
}

// Fills the tokens of a text with values. Joins tokens that cut a character.
ColouredText text_of_ids(ColouredText text, const std::vector<std::int32_t>& ids,
                         const Tokenizer& tokenizer) {
  text.tokens = labels_of(ids, tokenizer);
  return merged_text(text, token_cells(tokenizer, ids, TextUnit::character));
}

ColouredText text_of_example(const TopExample& example, const Tokenizer& tokenizer) {
  return text_of_ids({.label = concat_text(fixed_number(example.value(), 3), ", text ",
                                           example.sequence, ", token ", example.position),
                      .values = example.values,
                      .marked = example.position - example.begin},
                     example.ids, tokenizer);
}

Json example_json(const TopExample& example, const Tokenizer& tokenizer) {
  return {{"value", example.value()},
          {"text", example.sequence},
          {"position", example.position},
          {"begin", example.begin},
          {"tokens", labels_of(example.ids, tokenizer)},
          {"values", example.values}};
}

// Adds --html and --top.
void add_coloured_text_options(Options& options) {
  options
      .value(
          "html",
          "Instead of arrays, write this page: the tokens of --text in colours of the neurons or "
          "elements of --names, or the texts of --data on which one is most active")
      .value("top", "--html with --data: number of texts", "10");
  options.paths({"html"}).basic({"html"});
}

// Throws Error for options that do not fit --html or its absence.
void check_coloured_texts(const Options& options) {
  if (options.given("html")) {
    refuse_options(options, {"layers", "positions", "dtype", "shard_rows", "out"},
                   "cannot be combined with --html");
    output_file(options, "html", ".html");  // rejects invalid names before the work
  }
  require(!options.given("top") || (options.given("html") && options.given("data")),
          "--top: needs --html and --data");
}

// Colours every text once for each of --names, writes the page, and prints its name.
void colour_texts(const Options& options, const LoadedModel& loaded,
                  const ActivationContexts& texts) {
  ColouredTextPage page{.title = "Activations"};
  for (const std::string& name : split_at_commas(options.text("names"))) {
    const std::vector<double> values = column_values(*loaded.model, texts, column_of_name(name));
    auto from = values.begin();
    for (Index i = 0; i < texts.count(); ++i) {
      const auto to = from + texts.length(i);
      page.texts.push_back(
          text_of_ids({.label = texts.count() == 1 ? name : concat_text(name, ", text ", i),
                       .values = {from, to}},
                      texts.context(i).tokens, *loaded.tokenizer));
      from = to;
    }
  }
  const std::vector<std::string> files{write_page(options, page)};
  std::cout << (options.json() ? json_line({{"files", files}}) : written_text(files));
}

// Finds the --top texts on which the one neuron or element of --names is most active, writes the
// page, and prints them.
void colour_examples(const Options& options, const LoadedModel& loaded, const TokenDataset& data) {
  const std::vector<std::string> names = split_at_commas(options.text("names"));
  require_value(names.size() == 1, "names",
                "expected one neuron or element with --html and --data");
  TopExampleOptions wanted{.point = column_of_name(names.front())};
  wanted.count = count_option(options, "top", 1);
  wanted.batch_size = count_option(options, "batch_size", 1);
  wanted.tokenizer = loaded.tokenizer.get();
  wanted.progress = progress_bar("reading texts");
  const Tokenizer& tokenizer = *loaded.tokenizer;
  const std::vector<TopExample> examples = top_examples(*loaded.model, data, wanted);
  wanted.progress = {};
  const auto texts =
      transformed(examples, [&](const TopExample& e) { return text_of_example(e, tokenizer); });
  const std::vector<std::string> files{
      write_page(options, {.title = "Most active texts of " + names.front(), .texts = texts})};
  if (options.json()) {
    print_json({{"files", files}, {"examples", transformed(examples, [&](const TopExample& e) {
                                     return example_json(e, tokenizer);
                                   })}});
    return;
  }
  Table table({{"value", false}, {"text", false}, {"token", false}, {"at", true}});
  for (const TopExample& example : examples) {
    const auto index = static_cast<std::size_t>(example.position - example.begin);
    table.add({fixed_number(example.value(), 3), std::to_string(example.sequence),
               std::to_string(example.position), quoted_label(example.ids[index], tokenizer)});
  }
  std::cout << table.text() << "\n" << written_text(files);
}

constexpr const char* kCacheDetails =
    "Runs the model over a text and writes its activations at chosen points, for a notebook or "
    "for training a sparse autoencoder. numpy.load reads .npz; the package safetensors reads "
    ".safetensors.\n\n"
    "Arrays have TransformerLens's names of the points, and one row for each token:\n"
    "  blocks.5.hook_resid_post  [rows, C]\n"
    "  blocks.5.attn.hook_z      [rows, heads, D]; .../items holds the numbers of the\n"
    "                            heads unless they are 0, 1, 2 ...\n"
    "  tokens, positions         [rows] int32: id, and position in the model's context\n"
    "  documents, document_positions\n"
    "                            [rows] int32: document, and position in it\n"
    "  offsets                   [sequences + 1] int32: first row of each sequence\n\n"
    "pattern and attn_scores are maps [heads, queries, keys], so each sequence has its own "
    "array, .../0, .../1 ..., for at most 64 sequences.\n\n"
    "--names takes points, with layers and heads, neurons or elements after dots: resid_post, "
    "z.5.1, mlp_post.3-5.17, blocks.5.attn.hook_q. Points: embed, resid_pre, ln1_scale, "
    "ln1_normalized, ln1, q, k, v, rot_q, rot_k, attn_scores, pattern, z, result, attn_out, "
    "resid_mid, ln2_scale, ln2_normalized, ln2, mlp_pre, mlp_post, mlp_out, resid_post, feature, "
    "ln_final_scale, ln_final_normalized, ln_final, logits. Points "
    "that the model does not compute, such as resid_mid of parallel layers, are left out with "
    "a warning. --layers applies to names without layers. Layers above the last one needed are "
    "not computed.\n\n"
    "--text is read whole. --data is read as by headlight eval: in sequences of at most "
    "--window tokens, without the last token of a stream or document; bidirectional models "
    "(BERT) read all tokens, with [CLS] and [SEP] around each sequence. More than --shard_rows "
    "rows are written to OUT-00000.npz, OUT-00001.npz ..., each a complete cache of its "
    "sequences, and OUT.json lists them: model, type, rows, shards[{file, rows}], "
    "arrays[{name, type, shape}]. Files of an earlier call with the same --out are replaced or "
    "removed.\n\n"
    "Memory use does not depend on the size of a file. An unfinished file needs its size again "
    "on the same disk, as float32. float16 holds values up to 65,504; larger values become "
    "infinite, and a warning counts them.\n\n"
    "JSON keys: files (paths), index (null: one file), arrays[{name, type, shape}] (of all "
    "files together), rows, bytes, absent[] (points that the model does not compute), "
    "lost[{name, too_large, not_numbers}]. With --html: files, and with --data examples[{value, "
    "text, position, begin, tokens[], values[]}].";

Options cache_options() {
  Options options(
      {.name = "cache",
       .summary = "Write activations: residual stream, heads, neurons.",
       .positional = "MODEL",
       .details = kCacheDetails,
       .examples = {
           "headlight cache runs/toy --text \"the cat sat on the mat\" --names resid_post,z.1.0",
           "headlight cache runs/toy --data book.txt --names resid_post,mlp_out --layers 1-2 "
           "--dtype float16 --out book.safetensors",
           "headlight cache gpt2_dir --data lines.txt --documents line --names resid_post.6 "
           "--positions last",
           "headlight cache runs/toy --data data/toy.txt --documents blank_line --names "
           "neuron.1.17 --html neuron.html"}});
  options.value("text", "Run the model over this text");
  add_ids_option(options);
  add_text_data_options(options);
  add_window_option(options);
  add_intervene_options(options);
  options.value("names", "Names of the points to write, separated by commas", "resid_post")
      .value("layers",
             "Layers for names that give no layer number, e.g. 3, 4-8 or 4- (default: all)")
      .value("positions",
             "Positions to write of each sequence: all, last, or numbers from 0, e.g. 3, 4-8 or 4-",
             "all")
      .choice("dtype", "Data type of the written elements", kChoiceNames<StoredFloats>, "float32")
      .value("shard_rows",
             "Largest number of rows in a file (default: 65536, or the rows of 1 GiB as float32)")
      .value("out", "Write to this .npz or .safetensors file", "acts.npz");
  add_coloured_text_options(options);
  options.refused("type", "is now called --dtype");
  options.paths({"out"}).basic({"text", "names", "layers", "positions", "dtype", "out"});
  return options;
}

NumberRange layers_option(const Options& options, Index layers) {
  const NumberRange range = parse_range("layers", options.text("layers"));
  require_value(range.first < layers && range.last.value_or(0) < layers, "layers",
                "the model has layers 0 to ", layers - 1, ", got ", options.text("layers"));
  return range;
}

std::vector<PointRange> points_option(const Options& options) {
  std::vector<PointRange> points =
      transformed(split_at_commas(options.text("names")),
                  [](const std::string& name) { return parse_point("names", name); });
  require_value(!points.empty(), "names", "expected points such as resid_post,z, got none");
  return points;
}

// Sets `layers` for the points that name no layers.
void set_layers(std::vector<PointRange>& points, const NumberRange& layers) {
  bool is_used = false;
  for (PointRange& point : points) {
    if (is_in_layer(point.point) && point.layers == NumberRange{}) {
      point.layers = layers;
      is_used = true;
    }
  }
  require_value(is_used, "layers", "applies to names without a layer number, but --names has none");
}

ActivationFileOptions file_options(const Options& options) {
  ActivationFileOptions result{
      .activations = {.points = points_option(options),
                      .positions = parse_positions("positions", options.text("positions")),
                      .batch_size = count_option(options, "batch_size", 1)},
      .type = options.chosen<StoredFloats>("dtype"),
      .model = options.positional()};
  if (options.given("shard_rows")) {
    constexpr Index kMost = std::numeric_limits<std::int32_t>::max();
    result.shard_rows = count_option(options, "shard_rows", 1, kMost);
  }
  const std::filesystem::path path = options.text("out");
  require(path.extension() == ".npz" || path.extension() == ".safetensors",
          "--out: expected a name that ends in .npz or .safetensors, got '", options.text("out"),
          "'");
  require(path.extension() != ".npz" || result.type != StoredFloats::bfloat16,
          "--dtype: NumPy has no bfloat16; choose float16, or --out with a name that ends in "
          ".safetensors");
  return result;
}

ActivationContexts contexts_of_text(const Options& options, const LoadedModel& loaded) {
  const Index block = loaded.model->config().block_size;
  if (options.given("ids")) {
    refuse_options(options, {"documents", "separator", "jsonl"}, "cannot be combined with --ids");
    std::vector<std::vector<std::int32_t>> texts{ids_option(options, *loaded.tokenizer)};
    return ActivationContexts(std::move(texts), block);
  }
  ActivationContexts contexts(*loaded.tokenizer, text_documents(options), block);
  warn_about_special_names({options.text("text")}, *loaded.tokenizer, "--text");
  for (Index i = 0; i < contexts.count(); ++i) {
    warn_about_unknown(contexts.context(i).tokens, *loaded.tokenizer, "--text");
  }
  return contexts;
}

Json json_of(const ActivationFiles& written) {
  const auto path_of = [](const std::filesystem::path& file) { return file.string(); };
  const auto point_of = [](const AbsentPoint& absent) { return name_of(absent.point); };
  Json json{{"files", transformed(written.files, path_of)},
            {"index", text_or_null(written.index.string())},
            {"arrays", Json::array()},
            {"rows", written.rows},
            {"bytes", written.bytes},
            {"absent", transformed(written.absent, point_of)},
            {"lost", Json::array()}};
  for (const ActivationArrayInfo& array : written.arrays) {
    json["arrays"].push_back(
        {{"name", array.name},
         {"type", array.type},
         {"shape", std::vector<Index>(array.shape.begin(), array.shape.end())}});
    if (array.lost.too_large + array.lost.not_numbers > 0) {
      json["lost"].push_back({{"name", array.name},
                              {"too_large", array.lost.too_large},
                              {"not_numbers", array.lost.not_numbers}});
    }
  }
  return json;
}

void warn_about(const ActivationFiles& written) {
  for (const AbsentPoint& absent : written.absent) {
    log_warning(concat_text(name_of(absent.point), ": this model does not compute it (",
                            absent.layers, absent.layers == 1 ? " array" : " arrays",
                            " not written); wrote the other points"));
  }
  for (const ActivationArrayInfo& array : written.arrays) {
    if (array.lost.too_large > 0) {
      log_warning(concat_text(
          array.name, ": ", array.lost.too_large, " of ", numel(array.shape),
          " values exceed 65,504 and become infinite in float16; use --dtype bfloat16 or float32"));
    }
    if (array.lost.not_numbers > 0) {
      log_warning(concat_text(array.name, ": ", array.lost.not_numbers, " of ", numel(array.shape),
                              " values are NaN or infinite in the model"));
    }
  }
}

std::string text_of(const ActivationFiles& written) {
  Table table({{"array", true}, {"type", true}, {"shape", true}});
  for (const ActivationArrayInfo& array : written.arrays) {
    table.add({array.name, array.type, concat_text(array.shape)});
  }
  const std::string more = " to " + shown(written.files.back().filename()) + " and " +
                           shown(written.index);  // of several files
  return table.text() + "\nwrote " + shown(written.files.front()) +
         (written.index.empty() ? "" : more) + "\n";
}

void cache_command(const Options& options) {
  const bool of_text = gives_text(options);
  require(of_text != options.given("data"), "expected either --text or --data");
  check_coloured_texts(options);
  ActivationFileOptions writing = file_options(options);
  const LoadedModel loaded = load_windowed_model(options.positional(), options, Attention::any);
  intervene(options, loaded);
  if (options.given("layers")) {
    set_layers(writing.activations.points, layers_option(options, loaded.model->heads().layers()));
  }
  TokenDataset data = of_text ? TokenDataset{} : read_model_data(options, loaded);
  if (options.given("html")) {
    if (of_text) {
      colour_texts(options, loaded, contexts_of_text(options, loaded));
    } else {
      colour_examples(options, loaded, data);
    }
    return;
  }
  const ActivationContexts contexts =
      of_text ? contexts_of_text(options, loaded)
      : loaded.model->config().causal
          ? ActivationContexts(data, loaded.model->config().block_size)
          : ActivationContexts(token_ids(std::move(data)), loaded.model->config().block_size);
  writing.on_context = [&, show = progress_bar("cache")](Index done) {
    show(static_cast<double>(done) / static_cast<double>(contexts.count()));
  };
  const ActivationFiles written =
      write_activations(options.text("out"), *loaded.model, contexts, writing);
  writing.on_context = {};
  warn_about(written);
  std::cout << (options.json() ? json_line(json_of(written)) : text_of(written));
}

}  // namespace

int run_cache(const Words& words) { return run(cache_options(), words, cache_command); }

}  // namespace headlight::cli
