#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>
#include <span>

#include "base/share.h"
#include "base/strings/printable.h"
#include "base/strings/split.h"
#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/gguf_file.h"
#include "cli/option_groups/text_data.h"
#include "cli/tensor_list.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "formats/adapter/adapter.h"
#include "formats/token_settings.h"
#include "headlight/datasets/token_file.h"
#include "headlight/formats/arrays/npz.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/formats/chat_template/chat_model.h"
#include "headlight/formats/chat_template/known_templates.h"
#include "headlight/formats/gguf/gguf.h"
#include "headlight/storage/atomic_directory.h"
#include "show/report/parts/json_output.h"
#include "show/result/result.h"
#include "tensor/float16.h"

namespace headlight::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kExportFormats{"hf", "gguf", "safetensors"};
// The first three are floats, which other formats have as well.
constexpr std::array<std::string_view, 8> kTypeNames{"f32",  "f16",  "bf16", "q8_0",
                                                     "q6_k", "q5_k", "q4_k", "q4_0"};
constexpr std::array kGgufTypes{GgufType::f32,  GgufType::f16,  GgufType::bf16, GgufType::q8_0,
                                GgufType::q6_k, GgufType::q5_k, GgufType::q4_k, GgufType::q4_0};
constexpr std::array kFileTypes{StoredFloats::float32, StoredFloats::float16,
                                StoredFloats::bfloat16};

constexpr const char* kExportDetails =
    "Writes a model in the format of another program:\n\n"
    "  hf           directory for transformers: AutoModelForCausalLM.from_pretrained(OUT).\n"
    "               --type f16 or bf16 stores weights in 2 bytes.\n"
    "  gguf         FILE.gguf for llama.cpp, with the tokenizer. --type f16, bf16, q8_0, q4_k ...\n"
    "               stores matrices in 2 bytes, 1 byte or about half a byte per weight.\n"
    "               --calibrate FILE measures the inputs of each matrix while the model reads\n"
    "               up to 65,536 tokens of a text, and rounds columns with large inputs more\n"
    "               precisely: q5_k and q4_0 of the same size lose less, q6_k and q4_k change\n"
    "               little. --documents and --jsonl say where the text is divided.\n"
    "  safetensors  the tensors of hf alone, with their names (\"transformer.wte.weight\"), in "
    "the\n"
    "               file OUT, or in weights.safetensors of a new directory OUT if the name\n"
    "               has another ending. Also converts any FILE.safetensors or FILE.npz, and\n"
    "               the tensors of a FILE.gguf, which become float32. --type as for hf\n\n"
    "Types of 2 bytes round to the nearest value, ties to even. Weights that are too large for "
    "one, above 65,504 for f16, are refused.\n\n"
    "Models that a format cannot express are refused. Layers without an MLP get an MLP of "
    "zeros in hf and gguf, which does not change the results; where the format has no "
    "attention_scale, the queries take it. hf writes a model family that can express the model: "
    "gpt2, else gpt_neo and others. gguf writes one of the "
    "architectures gpt2, gptneox, llama, qwen2, qwen3 and gemma3.\n\n"
    "llama.cpp has only the tanh approximation of GELU. hf and gguf keep the tokens that begin, "
    "end and pad texts, and the chat "
    "template. A warning names settings that they do not keep, such as temperature in "
    "generation_config.json.\n\n"
    "JSON keys: format, files (paths), tensors (number written), warnings.";

Options export_options() {
  Options options(
      {.name = "export",
       .summary = "Write a model, or a file of tensors, for another program.",
       .positional = "MODEL|FILE",
       .details = kExportDetails,
       .examples = {
           "headlight export runs/toy --to hf --out toy_hf",
           "headlight export runs/toy --to hf --type bf16 --out toy_bf16",
           "headlight export runs/toy --to gguf --type q8_0 --out toy.gguf",
           "headlight export runs/toy --to gguf --type q4_0 --calibrate data/toy.txt --out "
           "toy4.gguf",
           "headlight export base.gguf --to hf --chat_template chatml --out base_chat",
           "headlight export runs/toy --to safetensors --out toy.safetensors",
           "headlight export weights.npz --to safetensors --out w.safetensors"}});
  options.choice("to", "Format", kExportFormats).value("out", "Write to this directory or file");
  options.choice("type", "gguf: data type of the matrices; hf, safetensors: of all weights",
                 kTypeNames, "f32");
  options.value(
      "chat_template",
      concat_text("hf, gguf: write this chat template (", joined(chat_template_names(), ", "),
                  ", or a file in Jinja) and add its special tokens to the vocabulary"));
  options.flag("adapter", "gguf: write the adapter (LoRA) alone, for llama.cpp's --lora");
  options.value("calibrate",
                "gguf: text, or data as in headlight eval --data, whose activations decide how the "
                "weights of q6_k, q5_k, q4_k and q4_0 are rounded");
  add_format_options(options);
  options.choice("token_dtype", kTokenDtypeHelp, kChoiceNames<TokenDtype>, "auto");
  options.paths({"out", "chat_template", "calibrate"})
      .basic({"to", "out", "type", "adapter", "chat_template", "calibrate"});
  return options;
}

struct Exported {
  std::vector<std::string> files = {};
  Index tensors = 0;
  std::vector<std::string> warnings = {};
};

void add_line(std::string line, std::vector<std::string>& lines) {
  if (!line.empty()) {
    lines.push_back(std::move(line));
  }
}

// Sorted paths of the entries of a directory.
std::vector<std::string> files_in(const fs::path& directory) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

// Returns the index of --type in kTypeNames.
std::size_t type_of(const Options& options) {
  const auto* type = std::ranges::find(kTypeNames, options.text("type"));
  return static_cast<std::size_t>(type - kTypeNames.begin());
}

// Returns the finite value that is furthest from zero, or 0.
float furthest_finite(const Tensor& tensor) {
  const Tensor values = to_contiguous(tensor);
  float furthest = 0;
  for (const float value :
       std::span(values.data<float>(), static_cast<std::size_t>(values.numel()))) {
    furthest = std::isfinite(value) && std::abs(value) > std::abs(furthest) ? value : furthest;
  }
  return furthest;
}

// Throws Error if a finite value becomes infinite in the type of --type.
void require_fitting(const NamedTensors& tensors, const Options& options) {
  const StoredFloats floats = kFileTypes.at(type_of(options));
  if (floats == StoredFloats::float32) {
    return;
  }
  const bool half = floats == StoredFloats::float16;
  const unsigned exponent = half ? 0x7C00 : 0x7F80;  // all ones for infinity
  const auto progress = progress_bar("checking weights");
  Index done = 0;
  for (const auto& [name, tensor] : tensors) {
    const float value = tensor.dtype() == DType::float32 ? furthest_finite(tensor) : 0;
    const unsigned bits = half ? float_to_half(value) : float_to_bfloat16(value);
    require((bits & exponent) != exponent, "--type: ", options.text("type"), " cannot hold ", value,
            " in ", name, half ? "; use bf16 or f32" : "; use f32");
    progress(share_of(++done, std::ssize(tensors)));
  }
}

// Gives the model the template of --chat_template, if there is one.
void apply_chat_template(const Options& options, LoadedModel& loaded) {
  if (!options.given("chat_template")) {
    return;
  }
  const std::vector<std::string> added = set_chat_template(
      loaded, read_chat_template(options.text("chat_template"), loaded.tokenizer->chat_template()));
  if (!added.empty()) {
    log_info(
        concat_text("added to the vocabulary: ", joined(transformed(added, escaped), ", "),
                    "; their embeddings are near the mean of the others until they are trained"));
  }
}

Exported export_hf(const fs::path& model, const Options& options) {
  const fs::path out = options.text("out");
  LoadedModel loaded = load_model_with_warnings(
      model, {.adjust = simplify_heads, .base = base_option(options, model)});
  apply_chat_template(options, loaded);
  loaded.model = in_plain_form(std::move(loaded.model));
  require_exportable(loaded.model->config());
  require_fitting(model_tensors(*loaded.model), options);
  AtomicDirectory directory(out, AtomicDirectory::Target::for_others);
  write_model_files(directory.path(), *loaded.model, *loaded.tokenizer,
                    kFileTypes.at(type_of(options)), progress_bar("writing"));
  directory.commit();
  const auto header = read_safetensors_header(out / "model.safetensors");
  Exported report{.files = files_in(out), .tensors = static_cast<Index>(header.size())};
  add_line(dropped_settings(loaded.directory, *loaded.tokenizer), report.warnings);
  add_line(tokenizer_warning(loaded.model->config(), *loaded.tokenizer), report.warnings);
  const bool is_of_sentencepiece = fs::exists(loaded.directory / "tokenizer.model") &&
                                   !fs::exists(loaded.directory / "tokenizer.json");
  add_line(is_of_sentencepiece
               ? "tokenizer.json has the nearest steps to those of tokenizer.model: "
                 "transformers may give other ids for unusual characters and blanks"
               : "",
           report.warnings);
  return report;
}

// Reads the data of --calibrate; none without the option.
std::optional<TokenDataset> calibration_data(const Options& options, const LoadedModel& loaded) {
  return options.given("calibrate")
             ? std::optional(read_text_data(options, *loaded.tokenizer, "calibrate"))
             : std::nullopt;
}

Exported export_gguf_adapter(const fs::path& adapter, const fs::path& out, const fs::path& base) {
  require(is_adapter(adapter) && !is_model_file(adapter), "--adapter: ", shown(adapter),
          " is no adapter in a folder of PEFT");
  write_gguf_adapter(out, adapter, checked_base(adapter, base));
  return {.files = {out.string()}, .tensors = std::ssize(GgufFile(out).tensors())};
}

Exported export_gguf(const fs::path& model, const Options& options) {
  const fs::path out = options.text("out");
  require(out.extension() == ".gguf", "--out: expected the name of a .gguf file, got '",
          out.string(), "'");
  if (options.given("adapter")) {
    return export_gguf_adapter(find_model_directory(model), out, base_option(options, model));
  }
  LoadedModel loaded = load_model_with_warnings(
      model, {.adjust = simplify_heads, .base = base_option(options, model)});
  apply_chat_template(options, loaded);
  const std::optional<TokenDataset> data = calibration_data(options, loaded);
  Exported report{.files = {out.string()}};
  report.warnings =
      write_gguf_file(out, loaded, kGgufTypes.at(type_of(options)), !options.given("chat_template"),
                      data.has_value() ? &*data : nullptr);
  report.tensors = std::ssize(GgufFile(out).tensors());
  return report;
}

NamedTensors read_gguf(const fs::path& source) {
  const GgufFile file(source);
  NamedTensors tensors;
  const auto progress = progress_bar("reading");
  for (const GgufTensor& tensor : file.tensors()) {
    tensors.emplace_back(tensor.name, file.read(tensor));
    progress(share_of(std::ssize(tensors), std::ssize(file.tensors())));
  }
  return tensors;
}

ResultArrays read_arrays(const fs::path& source, const fs::path& base) {
  if (!is_tensor_file(source) || fs::is_directory(source)) {
    return {model_tensors(
        *load_weights(source, {.base = base, .warn = log_warning, .progress = loading_bar()}))};
  }
  if (source.extension() == ".gguf") {
    return {read_gguf(source)};
  }
  if (source.extension() == ".safetensors") {
    return {read_safetensors(source)};
  }
  ResultArrays arrays;
  arrays.tensors = read_npz(source, &arrays.texts);
  return arrays;
}

void write_tensors(const fs::path& file, const NamedTensors& tensors, const Options& options) {
  write_safetensors(file, tensors, {{"format", "pt"}}, kFileTypes.at(type_of(options)),
                    progress_bar("writing"));
}

Exported export_tensors(const fs::path& source, const Options& options) {
  const fs::path out = options.text("out");
  const ResultArrays arrays = read_arrays(source, base_option(options, source));
  if (!arrays.texts.empty()) {
    fail(source.string(), ": '", arrays.texts.front().first,
         "' contains text, which a safetensors file cannot store");
  }
  require_fitting(arrays.tensors, options);
  Exported report{.tensors = std::ssize(arrays.tensors)};
  if (out.extension() == ".safetensors") {
    write_tensors(out, arrays.tensors, options);
    report.files = {out.string()};
    return report;
  }
  AtomicDirectory directory(out, AtomicDirectory::Target::for_others);
  write_tensors(directory.path() / "weights.safetensors", arrays.tensors, options);
  directory.commit();
  report.files = files_in(out);
  return report;
}

Exported export_to(const std::string& format, const fs::path& source, const Options& options) {
  if (format == "safetensors") {
    return export_tensors(source, options);
  }
  require(!is_tensor_file(source) || fs::is_directory(source) || is_gguf_file(source),
          "--to: ", format, " needs a model, ", source.string(),
          " is a file of tensors; use --to safetensors");
  return format == "gguf" ? export_gguf(source, options) : export_hf(source, options);
}

void print(const Exported& report, const std::string& format, bool json) {
  log_warnings(report.warnings);
  if (json) {
    print_json({{"format", format},
                {"files", report.files},
                {"tensors", report.tensors},
                {"warnings", report.warnings}});
    return;
  }
  for (const std::string& file : report.files) {
    std::cout << escaped(file) << "\n";
  }
}

void export_command(const Options& options) {
  require(options.given("to"), "--to: expected ", listed(kExportFormats));
  const std::string format = options.text("to");
  require(format == "gguf" || !options.text("type").starts_with("q"),
          "--type: ", options.text("type"), " is only for --to gguf");
  const std::string type = options.text("type");
  require(
      !options.given("calibrate") || (format == "gguf" && type.starts_with("q") && type != "q8_0"),
      "--calibrate: only for --to gguf with --type q6_k, q5_k, q4_k or q4_0");
  if (!options.given("calibrate")) {
    refuse_options(options, {"documents", "separator", "jsonl", "token_dtype"},
                   "needs --calibrate");
  }
  require(format == "gguf" || format == "hf" || !options.given("chat_template"),
          "--chat_template: only for --to hf and gguf");
  if (options.given("adapter")) {
    require(format == "gguf", "--adapter: only for --to gguf");
    refuse_options(options, {"type", "chat_template", "calibrate"}, "not with --adapter");
  }
  require(options.given("out") && !options.text("out").empty(),
          "--out: expected the name of the output directory or file");
  print(export_to(format, options.positional(), options), format, options.json());
}

}  // namespace

int run_export(const Words& words) { return run(export_options(), words, export_command); }

}  // namespace headlight::cli
