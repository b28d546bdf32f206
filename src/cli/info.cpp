#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>

#include "base/transformed.h"
#include "cli/bench/tools.h"
#include "cli/commands.h"
#include "cli/option_groups/config_options.h"
#include "cli/option_groups/text_data.h"
#include "cli/tensor_list.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/result_files.h"
#include "headlight/datasets/nanogpt_vocabulary.h"
#include "headlight/datasets/text_dataset.h"
#include "headlight/datasets/token_file.h"
#include "headlight/distributed/processes.h"
#include "headlight/formats/gguf/gguf.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/tokenizer_directory.h"
#include "headlight/kernels/machine/machine.h"
#include "headlight/nn/architecture.h"
#include "headlight/runs/config_source.h"
#include "headlight/runs/small_text.h"
#include "headlight/show/model/model_diagram.h"
#include "headlight/storage/file_writer.h"
#include "headlight/storage/staged_files.h"
#include "headlight/tokenizers/byte_tokenizer.h"
#include "headlight/train/memory_plan.h"
#include "show/model/model_parts.h"
#include "show/png/png.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/numbers.h"

namespace headlight::cli {
namespace {

// Range of head widths that info recommends.
constexpr Index kNarrowHead = 32;
constexpr Index kWideHead = 128;

Options info_options() {
  Options options(
      {.name = "info",
       .summary = "Show parameters, memory and FLOPs of a configuration or model.",
       .positional = "CONFIG.toml|MODEL|FILE",
       .details =
           "Prints the parameters of every part with their formulas, the memory of training "
           "and generation, and the machine's code for matrix products. Warns about numbers of "
           "heads that rarely work well. The vocabulary of a configuration is --vocab_size, "
           "its vocab_size, or counted from its data.\n\n"
           "--svg and --png draw the architecture: the shapes on the arrows, the parameters in "
           "the boxes, and a table of all weights.\n\n"
           "For a FILE.safetensors, FILE.npz or FILE.gguf, lists the tensors: name, type and "
           "shape. A GGUF file is also described as a model.\n\n"
           "JSON keys: parameters, layers, heads, heads_of_layers, width, head_width, "
           "block_size, vocab_size, by_part, matrices[{name, shape, parameters, number}], "
           "memory_bytes (weights, training_state; for a "
           "configuration also training_run), flops_per_token, warnings, machine{cpu, "
           "kernel_variant, threads, products_option, products_by, blas, processes_by}. For a "
           "file: format, tensors (name, dtype, shape), metadata (for lists: length and first "
           "values), elements.",
       .examples = {"headlight info configs/toy.toml", "headlight info runs/toy --json",
                    "headlight info configs/toy.toml --vocab_size 50257",
                    "headlight info configs/toy.toml --vocab_size 1024 --svg model.svg",
                    "headlight info runs/toy/best/model.safetensors"}});
  options
      .value("vocab_size",
             "Assume this vocabulary size for a configuration, instead of reading its data")
      .value("svg", "Also draw the result to this .svg file")
      .value("png", "Also draw the result to this .png file")
      .choice("lang", "Language of the drawing", kChoiceNames<Language>, "en")
      .paths({"svg", "png"});
  return options;
}

Index vocabulary_of(const TrainConfig& config, const Options& options) {
  if (options.given("vocab_size")) {
    return options.integer("vocab_size");
  }
  if (config.vocab_size > 0) {
    return config.vocab_size;
  }
  if (config.tokenizer == "byte") {
    return ByteTokenizer().vocab_size();
  }
  if (config.tokenizer != "char" && config.tokenizer != "bpe" && config.tokenizer != "ids") {
    return open_tokenizer(config.tokenizer)->vocab_size();
  }
  require(!config.data.empty(), "--vocab_size: needed, because the configuration names no data");
  const std::vector<TextFile> files = find_all_files(config.data);
  if (config.tokenizer == "bpe") {
    return vocabulary_for(files);
  }
  const auto ids =
      std::ranges::find_if(files, [](const TextFile& file) { return is_token_file(file.path); });
  if (config.tokenizer == "ids") {
    require(ids != files.end(), "--vocab_size: needed, because the data is a text of numbers");
    return id_count(ids->path);
  }
  if (ids != files.end()) {
    const auto tokenizer = vocabulary_beside(ids->path);
    require(tokenizer != nullptr, "--vocab_size: needed, because ", ids->name(),
            " contains token ids, and there is no meta.pkl next to it");
    return tokenizer->vocab_size();
  }
  return learn_characters(files, text_format_of(config)).vocab_size();
}

struct Subject {
  GptConfig model;
  Index batch_tokens = 0;              // in a training batch; 0: unknown
  std::optional<MemoryPlan> run = {};  // memory of a training run without its data, if known
};

Subject read_subject(const Options& options) {
  const std::filesystem::path path = options.positional();
  if (std::filesystem::is_directory(path) || is_model_file(path)) {
    require(!options.given("vocab_size"), "--vocab_size: needs a configuration, ", path.string(),
            " is a model");
    return {.model = read_effective_config(find_model_directory(path), log_warning,
                                           base_option(options, path))};
  }
  TrainConfig config;
  apply_config_file(config, path);
  in_place(kSettings, [&] {
    config.validate();
    require_documents(config);
  });
  const GptConfig model = config.model(vocabulary_of(config, options)).canonical();
  return {.model = model,
          .batch_tokens = config.batch_size * config.gpt.block_size,
          .run = plan_memory(config, model)};
}

Index head_width(const GptConfig& config) { return block_plan(config, 0).attention.head_width; }

std::string grouped_flops(double count) {
  constexpr double kLargestIndex = 9e18;
  if (count < kLargestIndex) {
    return grouped(static_cast<Index>(count));
  }
  return fmt::format("{:.3g}", count);
}

std::vector<std::string> warnings_for(const GptConfig& config) {
  std::vector<std::string> warnings;
  const Index width = head_width(config);
  const std::string advice = concat_text(
      "; 32 to 128 works well (try n_head = ", std::max<Index>(1, config.n_embd / 64), ")");
  if (width < kNarrowHead) {
    warnings.push_back(concat_text("heads of width ", width,
                                   " are narrow: each has little capacity, and heads tend to "
                                   "duplicate one another",
                                   advice));
  }
  if (width > kWideHead) {
    warnings.push_back(concat_text("heads of width ", width,
                                   " are wide: few heads learn few kinds of relation", advice));
  }
  return warnings;
}

struct InfoRow {
  const char* part;
  Index count;
  std::string formula;
};

bool has_biases_apart(const GptConfig& config) {
  return config.qkv_bias || config.attention_output_bias || config.mlp_bias;
}

// Returns the formula, in symbols, for the number of attention parameters of one layer: "4 d^2".
std::string attention_formula(const GptConfig& config) {
  const AttentionPlan plan = block_plan(config, 0).attention;
  const bool is_standard = config.heads_per_layer.empty() && plan.inner_width() == config.n_embd &&
                           plan.key_heads == plan.heads && !has_biases_apart(config);
  if (is_standard) {
    return config.bias ? "(4 d^2 + 4 d)" : "4 d^2";
  }
  if (!config.key_groups.empty() || plan.key_heads < plan.heads) {
    return "2 d D (H + G) + biases, D = head width, G = heads of keys and values";
  }
  return "4 d i + biases, i = heads x head width";
}

std::string mlp_formula(const GptConfig& config) {
  const Index inner = block_plan(config, 0).mlp_width.value_or(0);
  if (inner == 4 * config.n_embd && !config.gated_mlp && !has_biases_apart(config)) {
    return config.bias ? "(8 d^2 + 5 d)" : "8 d^2";
  }
  return std::string(config.gated_mlp ? "3" : "2") + " d x " + grouped(inner) + " + biases";
}

std::vector<InfoRow> rows_of(const GptConfig& config, const ParameterCounts& counts) {
  const std::string layers = std::to_string(config.n_layer) + " x ";
  const bool has_shifts = config.norm_options(config.n_embd, DType::float32).bias;
  const bool is_learned = config.position == PositionKind::learned;
  return {{"token embedding", counts.token_embedding, "V d"},
          {"position embedding", counts.position_embedding,
           is_learned ? "block_size d" : "0: position = " + std::string(name_of(config.position))},
          {"attention", counts.attention, layers + attention_formula(config)},
          {"mlp", counts.mlp, config.mlp ? layers + mlp_formula(config) : "0: attention only"},
          {"layer norms", counts.norms,
           std::string(config.norm_type == NormKind::rms ? "RMS norms: " : "") +
               (has_shifts ? "2 d each" : "d each")},
          {"head", counts.head, config.tie_weights ? "0: shared with the embedding" : "V d"}};
}

constexpr double kTrainingCopies = 4;  // of AdamW: weights, gradients and two moments

double weight_bytes(const ParameterCounts& counts) {
  return 4 * static_cast<double>(counts.total());
}

std::vector<Index> heads_of_layers(const GptConfig& config) {
  std::vector<Index> heads;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    heads.push_back(config.heads(layer));
  }
  return heads;
}

// Number of heads as "4", or as "4, 1 and 1" for a pruned model.
std::string heads_text(const GptConfig& config) {
  const std::vector<Index> heads = heads_of_layers(config);
  if (std::ranges::all_of(heads, [&](Index count) { return count == heads[0]; })) {
    return std::to_string(heads[0]);
  }
  std::string text;
  for (std::size_t layer = 0; layer < heads.size(); ++layer) {
    text += layer == 0 ? "" : layer + 1 == heads.size() ? " and " : ", ";
    text += std::to_string(heads[layer]);
  }
  return text;
}

Json matrices_json(const GptConfig& config) {
  return transformed(matrix_rows(config), [](const MatrixRow& row) {
    return Json{
        {"name", row.name}, {"shape", row.shape}, {"parameters", row.each}, {"number", row.count}};
  });
}

Json json_of(const Subject& subject, const ParameterCounts& counts) {
  const GptConfig& config = subject.model;
  Json parts;
  for (const InfoRow& row : rows_of(config, counts)) {
    parts[row.part] = row.count;
  }
  const double weights = weight_bytes(counts);
  Json bytes{{"weights", weights}, {"training_state", kTrainingCopies * weights}};
  if (subject.run) {
    bytes["training_run"] = subject.run->total();
  }
  Json machine = machine_json();
  machine["processes_by"] = describe_launcher_support();
  return {{"parameters", counts.total()},
          {"layers", config.n_layer},
          {"heads", config.n_head},
          {"heads_of_layers", heads_of_layers(config)},
          {"key_value_heads", block_plan(config, 0).attention.key_heads},
          {"width", config.n_embd},
          {"head_width", head_width(config)},
          {"block_size", config.block_size},
          {"vocab_size", config.vocab_size},
          {"by_part", parts},
          {"matrices", matrices_json(config)},
          {"memory_bytes", bytes},
          {"flops_per_token", training_flops_per_token(config)},
          {"warnings", warnings_for(config)},
          {"machine", machine}};
}

std::string row_text(const char* title, const std::string& value, const std::string& note) {
  return fmt::format("{:<20} {:>15}   {}\n", title, value, note);
}

std::string text_of(const Subject& subject, const ParameterCounts& counts) {
  const GptConfig& config = subject.model;
  const Index key_heads = config.n_kv_head;
  std::string text = concat_text(
      config.n_layer, " layers, ", heads_text(config), " heads of width ", head_width(config),
      key_heads > 0 ? concat_text(" (", key_heads, " of keys and values)") : "",
      ", d = ", config.n_embd, ", block ", config.block_size, ", V = ", config.vocab_size, "\n\n");
  for (const InfoRow& row : rows_of(config, counts)) {
    text += row_text(row.part, grouped(row.count), row.formula);
  }
  const double weights = weight_bytes(counts);
  text += fmt::format("{:<20} {:>15}\n\n", "all parameters", grouped(counts.total())) +
          row_text("weights", bytes_text(weights), "4 bytes a parameter") +
          row_text("training state", bytes_text(kTrainingCopies * weights),
                   "weights, gradients, two moments; activations come on top");
  if (subject.run) {
    text += row_text("training run", bytes_text(subject.run->total()),
                     "in total; plus 4 bytes a token of text, none for .bin");
  }
  const double flops = training_flops_per_token(config);
  text += row_text("FLOPs a token", grouped_flops(flops),
                   concat_text("forward and backward, block of ", config.block_size));
  if (subject.batch_tokens > 0) {
    text += row_text("FLOPs a full batch",
                     grouped_flops(flops * static_cast<double>(subject.batch_tokens)),
                     grouped(subject.batch_tokens) + " tokens");
  }
  text += "\ncomputed with " + machine_description() + "\nseveral processes by " +
          describe_launcher_support() + "\n";
  for (const std::string& warning : warnings_for(config)) {
    text += "\nwarning: " + warning + "\n";
  }
  return text;
}

// Model of a GGUF file; none for other files and unsupported architectures.
std::optional<Subject> model_in_file(const std::filesystem::path& path,
                                     const std::filesystem::path& base) {
  if (!is_gguf_file(path)) {
    return std::nullopt;
  }
  try {
    return Subject{.model = read_effective_config(path, {}, base)};
  } catch (const Error& error) {
    log_warning(concat_text(error.what(), "; only its tensors are listed"));
    return std::nullopt;
  }
}

// Files of the diagram. Construct it before the work, to reject invalid names early.
class DiagramFiles {
 public:
  explicit DiagramFiles(const Options& options)
      : options_(options),
        diagram_{.title = title_of(options.positional()),
                 .language = options.chosen<Language>("lang")} {
    for (const char* name : {"svg", "png"}) {
      if (options.given(name)) {
        paths_[name] = output_file(options, name, std::string(".") + name);
      }
    }
  }

  // Throws Error about an option that needs a model.
  void refuse(const std::string& reason) const { refuse_options(options_, {"svg", "png"}, reason); }
  // Writes the files. Returns their names.
  std::vector<std::string> write(const GptConfig& config) const {
    std::vector<std::string> files;
    StagedFiles staged;
    for (const auto& [name, path] : paths_) {
      const std::string figure = model_diagram_svg(config, diagram_);
      if (name == "png") {
        warn_about_fonts(figure);
      }
      write_file(staged.path_for(path), name == "png" ? svg_to_png(figure) : figure);
      files.push_back(path.string());
    }
    staged.commit();
    return files;
  }

 private:
  static std::string title_of(const std::string& model) {
    const std::filesystem::path path = std::filesystem::path(model).lexically_normal();
    return (path.has_filename() ? path.stem() : path.parent_path().filename()).string();
  }

  const Options& options_;
  ModelDiagramOptions diagram_;
  std::map<std::string, std::filesystem::path> paths_;  // by option
};

std::string model_report(const Subject& subject, const DiagramFiles& diagram, bool json,
                         const Json& more = Json::object()) {
  const ParameterCounts counts = count_parameters(subject.model);
  const std::vector<std::string> files = diagram.write(subject.model);
  if (!json) {
    return text_of(subject, counts) + written_text(files);
  }
  Json result = json_of(subject, counts);
  if (!files.empty()) {
    result["files"] = files;
  }
  for (const auto& [key, value] : more.members()) {
    result.add(key, value);
  }
  return json_line(result);
}

std::string file_report(const std::filesystem::path& path, const DiagramFiles& diagram,
                        const Options& options) {
  const bool json = options.json();
  const Json list = list_tensor_file(path);
  const std::optional<Subject> model = model_in_file(path, base_option(options, path));
  if (!model) {
    diagram.refuse("needs a configuration or model");
    return json ? json_line(list) : tensor_list_text(list);
  }
  return json ? model_report(*model, diagram, json, list)
              : model_report(*model, diagram, json) + "\n" + tensor_list_text(list);
}

void info_command(const Options& options) {
  const std::string& path = options.positional();
  const DiagramFiles diagram(options);
  if (is_tensor_file(path) && !std::filesystem::is_directory(path)) {
    require(!options.given("vocab_size"), "--vocab_size: needs a configuration, ", path,
            " is a file of tensors");
    std::cout << file_report(path, diagram, options);
    return;
  }
  std::cout << model_report(read_subject(options), diagram, options.json());
}

}  // namespace

int run_info(const Words& words) { return run(info_options(), words, info_command); }

}  // namespace headlight::cli
