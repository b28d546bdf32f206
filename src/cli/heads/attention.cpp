#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "base/strings/split.h"
#include "cli/commands.h"
#include "cli/heads/token_circuits.h"
#include "cli/option_groups/interventions.h"
#include "cli/option_groups/prompt_tokens.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/language.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/result_files.h"
#include "cli/terminal/terminal.h"
#include "headlight/base/utf8.h"
#include "headlight/interpret/scores/head_score_file.h"
#include "headlight/storage/file_writer.h"
#include "headlight/storage/staged_files.h"
#include "interpret/words.h"
#include "show/attention/attention_files.h"
#include "show/report/parts/json_output.h"

namespace headlight::cli {
namespace {

constexpr const char* kAttentionDetails =
    "Runs the model once over a text and writes its attention patterns.\n\n"
    "  attention.npz    blocks.0.attn.hook_pattern, blocks.1. ...: float32 [B, H, T, T],\n"
    "                   the weight of key s for query t in head h and document b. Rows\n"
    "                   sum to 1; weights of later tokens are 0 unless the model is\n"
    "                   bidirectional (BERT), whose [CLS] and [SEP] are kept.\n"
    "                   blocks.0.attn.heads ... (int32 [H]): the numbers of the heads.\n"
    "                   With --neurons also hook_q and hook_k [B, T, H, D], or\n"
    "                   hook_rot_q and hook_rot_k if the model rotates or normalises\n"
    "                   them; heads that share keys have equal hook_k. With several\n"
    "                   documents also lengths [B] and tokens [B, T] (int32); padding\n"
    "                   has weight 0 and the token <|endoftext|>.\n"
    "                   token_labels are the labels of the rows (token_labels.0 ... of\n"
    "                   several documents); with --units char or word, cells [T] is the row of\n"
    "                   each token.\n"
    "  tokens.json      ids, token labels and text of every document; layers and heads;\n"
    "                   with --units also begins, the first token of each row\n"
    "  layer_0.svg ...  a figure of every layer (first document); --format png writes\n"
    "                   layer_0.png ...\n"
    "  attention.html   an interactive page of every head and document, for a browser\n"
    "  bertviz.json     on request: parameters of BertViz' head view\n\n"
    "With --difference, layer figures show the weights of the first document minus those of the "
    "compared one, blue above 0 and orange below. Both need as many tokens. With --value_weighted, "
    "a row no longer sums to 1 (Kobayashi et al. 2020), in files too.\n\n"
    "--units word merges the tokens of a word, and --units char those of a character, to one row "
    "and "
    "column: the mean over its queries of the sum over its keys. A token of several characters "
    "is never split.\n\n"
    "--view terminal (or --format text) prints the patterns instead; name one or a few "
    "--heads. With --out it also writes them, without colours, to attention.txt.\n\n"
    "Higher weights have more contrast: darker on the light background of figures and pages, "
    "brighter on a dark one. A terminal's background is that of the variable COLORFGBG, and dark "
    "without it. --scores accepts only scores of this model "
    "(heads.json holds its fingerprint) and marks classes with too little evidence by ?.\n\n"
    "Arrays hold the chosen heads in ascending order. Files of the same names in the output "
    "directory are replaced, and layer figures of earlier calls are removed. Other files stay.\n\n"
    "JSON keys: files (paths), tokens (of all documents), layers (number of layers), heads "
    "(number of heads in all layers), directory.";

constexpr int kTextColumns = 100;  // width of text if no terminal gives one

constexpr std::array<std::string_view, 7> kFormats{"npz",  "json",    "svg", "png",
                                                   "html", "bertviz", "text"};

void add_source_options(Options& options) {
  options.value("text", "Show the attention patterns of this text");
  add_ids_option(options);
  options.values("file", kTextsHelp);
  add_format_options(options);
  add_special_tokens_option(options);
  add_window_option(options);
  options.value("max_documents", "Use only the first N documents; 0: all", "0")
      .value("max_tokens", "Use only the first N tokens of each document; 0: all", "0");
}

void add_style_options(Options& options) {
  options
      .choice("colours", "Colour map of figures, pages and the terminal", kChoiceNames<ColourMap>,
              "headlight")
      .value("title", "Title of figures and pages, instead of the model's name")
      .value("number_format", "Format of the weights in cells: .0f to .4f, or .0% to .4%", ".2f");
  add_language_option(options, "Language of figures and pages");
}

Options attention_options() {
  const auto& of_page = kChoiceNames<AttentionView>;
  std::vector<std::string_view> views(of_page.begin(), of_page.end());
  views.emplace_back("terminal");
  Options options(
      {.name = "attention",
       .summary = "Write and draw the attention patterns of a text.",
       .positional = "MODEL",
       .details = kAttentionDetails,
       .examples = {
           "headlight attention runs/toy --text \"the cat sat on the mat\"",
           "headlight attention runs/toy --file story.txt --max_tokens 64 --out story",
           "headlight attention runs/toy --text \"abcabc\" --heads 0.0,1.0 --view terminal",
           "headlight attention runs/toy --text \"abcabc\" --view neuron --format html",
           "headlight attention runs/toy --text \"a cat\" --compare_text \"a dog\"",
           "headlight attention runs/toy --text \"a cat\" --compare_text \"a dog\" --difference "
           "--format svg",
           "headlight attention runs/toy/step_00000500 --text \"abcabc\" --compare runs/toy",
           "headlight attention runs/toy --file lines.txt --documents line --format npz"}});
  add_source_options(options);
  options.value("layers", "Only these layers, e.g. 3, 0,2 or 4-8 (8 included)")
      .value("heads",
             "Heads in those layers, e.g. 0,2, or in any layer, e.g. 0.1,2.3 or 0:1;2:3 (default: "
             "all)")
      .value("compare_text", "Show this text on the page as one more document, beside the first")
      .value("compare", "Show the patterns of this model on the page, beside MODEL's")
      .value("scores",
             "Label heads with their classes from this file, written by headlight heads; "
             "FILE,FILE2 for MODEL and --compare")
      .choice("view", "View in which the page opens, or terminal to print text", views, "model")
      .flag("difference",
            "Draw in layer figures the weights minus those of --compare or --compare_text")
      .flag("value_weighted",
            "Multiply each weight by the norm of the vector that it carries (v W_O), relative to "
            "the head's largest")
      .flag("neurons", "Record queries and keys for the neuron view (implied by --view neuron)")
      .choice("units",
              "Show a row and column for each token, character or word (default: token; figures, "
              "pages and text join tokens that cut a character)",
              kChoiceNames<TextUnit>);
  add_token_circuit_options(options);
  add_style_options(options);
  options
      .value("format", "Formats to write, separated by commas, of " + listed(kFormats),
             "npz,json,svg,html")
      .choices(kFormats)
      .value("out", "Write to this directory", "attention");
  add_intervene_options(options);
  options.refused("by", "is now called --units");
  options.paths({"file", "compare", "scores", "out"})
      .basic({"text", "file", "layers", "heads", "units", "compare_text", "compare", "view",
              "format", "out"});
  return options;
}

// Numbers of a list of numbers and ranges such as "0,4-8"; empty: all layers.
std::vector<Index> layers_option(const Options& options, const HeadLayout& layout) {
  std::vector<Index> layers;
  for (const std::string& text : split_at_commas(options.text("layers"))) {
    const NumberRange range = parse_range("layers", text);
    const Index last = range.last.value_or(layout.layers() - 1);
    require_value(range.first <= last && last < layout.layers(), "layers",
                  "the model has layers 0 to ", layout.layers() - 1, ", got ", text);
    for (Index layer = range.first; layer <= last; ++layer) {
      layers.push_back(layer);
    }
  }
  return layers;
}

// Heads that --layers and --heads name; all heads if neither is given.
HeadSet heads_option(const Options& options, const HeadLayout& layout) {
  const std::vector<Index> layers = layers_option(options, layout);
  const std::string heads = options.text("heads");
  if (heads.find_first_of(".:") == std::string::npos) {
    return HeadSet::of_layers(layout, layers, options.integers("heads"));
  }
  require(layers.empty(), "--layers: cannot be combined with --heads ", heads,
          ", which names layers");
  return HeadSet::parse(heads).or_all(layout);
}

bool is_terminal_view(const Options& options) { return options.text("view") == "terminal"; }

// Formats to write. --view terminal without --format writes text only.
std::set<std::string> chosen_formats(const Options& options) {
  std::set<std::string> formats;
  if (is_terminal_view(options)) {
    formats.insert("text");
  }
  if (formats.empty() || options.given("format")) {
    for (const std::string& format : split_at_commas(options.text("format"))) {
      require(std::ranges::find(kFormats, format) != kFormats.end(), "--format: expected some of ",
              listed(kFormats), ", got '", format, "'");
      formats.insert(format);
    }
  }
  require(!formats.empty(), "--format: expected some of ", listed(kFormats), ", got none");
  require(!formats.contains("text") || !options.json(),
          "--format text: cannot be combined with --json");
  return formats;
}

// Texts of --file or --text, then of --compare_text. The ids of --ids are read elsewhere.
std::vector<std::string> read_documents(const Options& options) {
  require(gives_text(options) != options.given("file"), "expected either --text or --file");
  const TextFormat format = text_format(options);
  std::vector<std::string> documents;
  if (options.given("file")) {
    std::vector<std::string> warnings;
    documents = read_documents(find_texts(options.texts("file")), format, &warnings);
    log_warnings(warnings);
  } else if (options.given("ids")) {
    refuse_options(options, {"documents", "separator", "jsonl"}, "cannot be combined with --ids");
  } else {
    documents = text_documents(options);
  }
  const Index most = count_option(options, "max_documents", 0);
  if (most > 0 && most < static_cast<Index>(documents.size())) {
    documents.resize(static_cast<std::size_t>(most));
  }
  if (options.given("compare_text")) {
    require(!options.text("compare_text").empty(), "--compare_text: expected a text, got none");
    require_utf8(options.text("compare_text"), "--compare_text");
    documents.push_back(options.text("compare_text"));
  }
  return documents;
}

// Title of a model: "toy" for runs/toy and runs/toy/.
std::string title_of(const std::string& model) {
  const std::filesystem::path path = std::filesystem::path(model).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

// Head scores of file number `index` in --scores: 0 for MODEL, 1 for --compare. Empty without one.
std::map<HeadId, HeadScore> scores_option(const Options& options, std::size_t index,
                                          const Gpt& model) {
  const std::vector<std::string> files = split_at_commas(options.text("scores"));
  if (index >= files.size()) {
    return {};
  }
  HeadScoreFile file = read_head_scores(files[index], model);
  const bool has_warned = index == 0 && options.given("intervene");  // intervene() reads the file
  if (!file.doubt.empty() && !has_warned) {
    log_warning(file.doubt);
  }
  return std::move(file.scores);
}

// Returns the maps for figures, pages and text. Without --units they have whole characters.
std::vector<AttentionMaps> maps_of(const Options& options, const RecordedAttention& recorded,
                                   const Tokenizer& tokenizer, const std::string& title,
                                   const std::map<HeadId, HeadScore>& scores) {
  std::vector<AttentionMaps> documents;
  for (Index d = 0; d < std::ssize(recorded.documents); ++d) {
    documents.push_back(options.given("units") ? recorded.maps(d, title)
                                               : recorded.whole_maps(d, tokenizer, title));
    documents.back().scores = scores;
  }
  return documents;
}

// Language of figures and pages. Text for the terminal follows --lang alone.
Language style_language(const Options& options) {
  return is_terminal_view(options) && !options.given("lang") ? Language::english
                                                             : language_option(options);
}

// Title with the kind of its weights.
std::string shown_title(const Options& options, const std::string& title) {
  return title +
         (options.given("value_weighted") ? word(style_language(options), "value_weighted") : "");
}

// Records the attention of --ids, if given, and of the texts.
RecordedAttention record(const Options& options, const LoadedModel& loaded,
                         const std::vector<std::string>& texts, RecordAttentionOptions recording) {
  const Tokenizer& tokenizer = *loaded.tokenizer;
  recording.progress = progress_bar("reading layers");
  if (!options.given("ids")) {
    return record_attention_batch(*loaded.model, tokenizer, texts, recording);
  }
  std::vector<std::vector<std::int32_t>> documents{ids_option(options, tokenizer)};
  for (const std::string& text : texts) {
    documents.push_back(tokenizer.encode_prompt(text));
  }
  return record_attention_of_ids(*loaded.model, tokenizer, documents, recording);
}

// Adds the maps of --compare. Returns the index of the document to show beside the first, or -1.
Index add_comparison(const Options& options, const std::vector<std::string>& texts,
                     RecordAttentionOptions recording, std::vector<AttentionMaps>& documents) {
  if (!options.given("compare")) {
    return options.given("compare_text") ? static_cast<Index>(documents.size()) - 1 : -1;
  }
  const std::string path = options.text("compare");
  const LoadedModel other = load_windowed_model(path, options, Attention::any, true);
  recording.heads = heads_option(options, other.model->heads());
  const bool alike = title_of(path) == title_of(options.positional());
  for (AttentionMaps& maps : documents) {
    maps.title =
        alike && !options.given("title") ? shown_title(options, options.positional()) : maps.title;
  }
  const auto beside = static_cast<Index>(documents.size());
  for (AttentionMaps& maps :
       maps_of(options, record(options, other, texts, recording), *other.tokenizer,
               shown_title(options, alike ? path : title_of(path)),
               scores_option(options, 1, *other.model))) {
    documents.push_back(std::move(maps));
  }
  return beside;
}

std::string text_of(const std::vector<std::string>& files) {
  const std::string last = files.empty() ? "" : std::filesystem::path(files.back()).extension();
  const bool is_shown = last == ".html" || last == ".svg" || last == ".png";
  return written_text(files) + (is_shown ? "open  " + escaped(files.back()) + "\n" : "");
}

Json json_of(const std::vector<std::string>& files, const RecordedAttention& recorded,
             const std::string& directory) {
  return {{"files", files},
          {"tokens", recorded.token_count()},
          {"layers", recorded.layers.size()},
          {"heads", recorded.head_count()},
          {"directory", directory}};
}

void print_maps(const std::vector<AttentionMaps>& documents, AttentionTextOptions text) {
  text.columns = columns_of(Stream::output, kTextColumns);
  text.colours = has_colours(Stream::output);
  text.light_ground = has_light_background();
  std::cout << attention_maps_text(documents, text);
}

AttentionStyle style_option(const Options& options) {
  return {.colours = options.chosen<ColourMap>("colours"),
          .numbers = parse_number_format("--number_format", options.text("number_format")),
          .language = style_language(options)};
}

// Removes figures of layers that this call did not write. An earlier call left them, and a reader
// could mistake them for figures of this text.
void remove_old_figures(const std::filesystem::path& directory, const std::string& extension,
                        const std::vector<std::string>& written) {
  const auto is_figure = [&](const std::filesystem::path& path) {
    constexpr std::string_view kPrefix = "layer_";
    const std::string stem = path.stem().string();
    return path.extension() == extension && stem.starts_with(kPrefix) &&
           stem.size() > kPrefix.size() &&
           stem.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos;
  };
  std::error_code ignored;
  const std::vector<std::filesystem::directory_entry> entries{
      std::filesystem::directory_iterator(directory, ignored), {}};
  for (const std::filesystem::directory_entry& entry : entries) {
    if (entry.is_regular_file(ignored) && is_figure(entry.path()) &&
        std::ranges::find(written, entry.path().string()) == written.end()) {
      std::filesystem::remove(entry.path(), ignored);
    }
  }
}

std::vector<std::string> write_files(
    const Options& options, const std::set<std::string>& formats, const ResultArrays& arrays,
    const std::vector<std::pair<std::string, std::string>>& texts) {
  const std::filesystem::path directory = options.text("out");
  std::vector<std::string> files;
  if (arrays.tensors.empty() && texts.empty()) {
    return files;
  }
  make_folder(directory);
  StagedFiles staged(directory);
  if (!arrays.tensors.empty()) {
    files.push_back((directory / "attention.npz").string());
    write_npz(staged.path() / "attention.npz", arrays.tensors, arrays.texts);
  }
  for (const auto& [name, contents] : texts) {
    files.push_back((directory / name).string());
    write_file(staged.path() / name, contents);
  }
  staged.commit();
  for (const std::string format : {"svg", "png"}) {
    if (formats.contains(format)) {
      remove_old_figures(directory, "." + format, files);
    }
  }
  return files;
}

bool differences_option(const Options& options, const std::set<std::string>& formats) {
  const bool is_given = options.given("difference");
  require(!is_given || options.given("compare") || options.given("compare_text"),
          "--difference: needs --compare or --compare_text");
  require(!is_given || formats.contains("svg") || formats.contains("png"),
          "--difference: needs --format svg or png, whose figures show it");
  return is_given;
}

RecordAttentionOptions recording_options(const Options& options) {
  RecordAttentionOptions recording;
  recording.max_tokens = count_option(options, "max_tokens", 0);
  recording.vectors = options.given("neurons") || options.text("view") == "neuron";
  recording.unit = options.given("units") ? options.chosen<TextUnit>("units") : TextUnit::token;
  recording.value_weighted = options.given("value_weighted");
  require(!recording.vectors || !recording.value_weighted,
          "--value_weighted: cannot be combined with --neurons and --view neuron");
  require(!recording.vectors || recording.unit == TextUnit::token, "--units ",
          options.text("units"),
          ": cannot be combined with --neurons and --view neuron, which show queries and keys of "
          "single tokens");
  return recording;
}

// Throws Error for options of outputs that are not written.
void check_outputs(const Options& options, const std::set<std::string>& formats) {
  if (!formats.contains("html")) {
    const bool has_effect = is_terminal_view(options) || options.text("view") == "neuron";
    require(has_effect || !options.given("view"), "--view ", options.text("view"),
            ": needs --format html");
  }
  const auto any_of = [&](std::initializer_list<const char*> names) {
    return std::ranges::any_of(names, [&](const char* name) { return formats.contains(name); });
  };
  if (!any_of({"svg", "png", "html", "text"})) {
    refuse_options(options, {"colours", "title", "number_format", "lang"},
                   "needs --format svg, png, html or text");
  }
  if (!any_of({"html", "text"}) && !options.given("difference")) {
    refuse_options(options, {"compare"}, "needs --format html or text, or --difference");
  }
  if (!any_of({"html", "npz"})) {
    refuse_options(options, {"neurons"}, "needs --format html or npz");
  }
  check_token_circuits(options, formats);
  require(options.given("compare") || split_at_commas(options.text("scores")).size() <= 1,
          "--scores: a second file needs --compare");
}

AttentionFilesOptions files_options(const Options& options) {
  AttentionFilesOptions wanted{.formats = chosen_formats(options)};
  check_outputs(options, wanted.formats);
  if (!is_terminal_view(options)) {
    wanted.page.view = options.chosen<AttentionView>("view");
  }
  wanted.page.style = style_option(options);
  wanted.differences = differences_option(options, wanted.formats);
  return wanted;
}

void attention_command(const Options& options) {
  RecordAttentionOptions recording = recording_options(options);
  AttentionFilesOptions wanted = files_options(options);
  const std::vector<std::string> texts = read_documents(options);
  const LoadedModel loaded =
      load_windowed_model(options.positional(), options, Attention::any, true);
  recording.heads = heads_option(options, loaded.model->heads());
  intervene(options, loaded, true);
  warn_about_special_names(texts, *loaded.tokenizer, "text");
  const RecordedAttention recorded = record(options, loaded, texts, recording);
  for (const RecordedDocument& document : recorded.documents) {
    warn_about_unknown(document.ids, *loaded.tokenizer, "text");
  }
  std::vector<AttentionMaps> documents =
      maps_of(options, recorded, *loaded.tokenizer,
              shown_title(options, options.given("title") ? options.text("title")
                                                          : title_of(options.positional())),
              scores_option(options, 0, *loaded.model));
  wanted.page.beside = add_comparison(options, texts, recording, documents);
  if (wanted.formats.contains("png")) {
    warn_about_fonts(recorded.documents.front().text + documents.front().title +
                     (wanted.page.style.language == Language::korean
                          ? "한글"
                          : ""));  // PNG figures show the first document only
  }
  auto contents =
      token_circuit_figures(options, loaded, recording.heads, recorded.documents.front().ids);
  wanted.progress = progress_bar("drawing layers");
  std::ranges::move(attention_files(recorded, documents, wanted), std::back_inserter(contents));
  AttentionTextOptions text{.columns = kTextColumns, .style = wanted.page.style};
  text.own_numbers = options.given("number_format");
  if (wanted.formats.contains("text") && options.given("out")) {
    contents.emplace_back("attention.txt", attention_maps_text(documents, text));
  }
  const bool is_batch = options.text("documents") != "none" || recorded.documents.size() > 1;
  const ResultArrays arrays = wanted.formats.contains("npz")
                                  ? attention_arrays(recorded, *loaded.tokenizer, is_batch)
                                  : ResultArrays{};
  const std::vector<std::string> files = write_files(options, wanted.formats, arrays, contents);
  if (wanted.formats.contains("text")) {
    print_maps(documents, text);
  }
  std::cout << (options.json() ? json_line(json_of(files, recorded, options.text("out")))
                               : text_of(files));
}

}  // namespace

int run_attention(const Words& words) { return run(attention_options(), words, attention_command); }

}  // namespace headlight::cli
