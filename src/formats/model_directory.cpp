#include "headlight/formats/model_directory.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <iterator>
#include <map>

#include "base/json.h"
#include "base/strings/printable.h"
#include "formats/adapter/adapter.h"
#include "formats/families/families.h"
#include "formats/gguf/gguf_header.h"
#include "formats/huggingface/model_weights.h"
#include "formats/model_files.h"
#include "formats/nanogpt/nanogpt_file.h"
#include "formats/stored_model.h"
#include "headlight/autograd/autograd.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/formats/run_layout.h"
#include "headlight/formats/tokenizer_directory.h"
#include "headlight/kernels/machine/memory.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/storage/manifest.h"
#include "nn/packed/packed_weight.h"
#include "storage/input_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestConfig = Index{1} << 20;  // bytes

void check(const StoredModel& model, const WarningSink& warn) {
  for (const std::string& line : {model.unread, model.weights.check(model.config)}) {
    if (warn && !line.empty()) {
      warn(line);
    }
  }
}

void require_memory_for(const fs::path& path, const GptConfig& config, double bytes) {
  const std::string missing = missing_memory(bytes);
  require(missing.empty(), shown(path), ": ", count_parameters(config).total(),
          " parameters do not fit in memory: they take ", missing);
}

// Reads the weights of a model with packed matrices.
std::unique_ptr<Gpt> load_packed(const fs::path& path, const StoredModel& stored, MatrixForm form,
                                 const LoadOptions& options) {
  const bool layers_only = options.layers_only;
  if (form == MatrixForm::stored) {
    require_memory_for(path, stored.config,
                       stored.weights.stored_bytes(stored.config, layers_only));
  } else {
    require_decoder_memory(stored.config, format_of(form));
  }
  const Gpt::Initialisations initialisations{
      .head = layers_only ? Initialisation::zeros : Initialisation::none,
      .layers = Initialisation::none};
  auto model = std::make_unique<Gpt>(stored.config, initialisations, DType::float32);
  stored.weights.pack_into(*model, form, layers_only, options.progress);
  return model;
}

// Reads the weights as parameters.
std::unique_ptr<Gpt> load_plain(const fs::path& path, const StoredModel& stored,
                                const LoadOptions& options) {
  if (options.matrices) {
    require_decoder_memory(stored.config, WeightFormat::float32);
  }
  const auto count = static_cast<double>(count_parameters(stored.config).total());
  constexpr double kMebibyte = 1024 * 1024;
  const double bytes = count * static_cast<double>(element_size(options.dtype));
  require_memory_for(path, stored.config, bytes);
  if (options.inform && stored.weights.has_integers()) {
    options.inform(concat_text(shown(path), ": its integers are expanded to ",
                               name_of(options.dtype), ": ", std::llround(bytes / kMebibyte),
                               " MiB"));
  }
  std::unique_ptr<Gpt> model = Gpt::blank(stored.config, options.dtype);
  stored.weights.read_into(*model, options.progress);
  require_finite(model->parameters(), shown(path) + ": ");
  return model;
}

// True if the model is read into panels only.
bool is_packed(const ModelWeights& weights, const std::optional<MatrixForm>& form) {
  return form && *form != MatrixForm::float32 &&
         (*form != MatrixForm::stored || weights.has_integers());
}

// Verifies the model files against the manifest. Folders of other tools have none.
void verify_model_files(const fs::path& directory) {
  if (!has_manifest(directory)) {
    return;
  }
  std::vector<std::string_view> present;
  std::error_code ignored;
  const auto& files = is_adapter(directory) ? kAdapterFiles : kModelFiles;
  std::copy_if(files.begin(), files.end(), std::back_inserter(present),
               [&](std::string_view file) { return fs::exists(directory / file, ignored); });
  try {
    verify_manifest(directory, present);
  } catch (const Error& error) {
    fail(error.what(), "; if the change is intended, remove MANIFEST.json");
  }
}

constexpr std::string_view kPickle =
    "a Python pickle, is not supported; save the model as config.json and model.safetensors with "
    "transformers";

bool is_pickle_name(const fs::path& path) {
  return path.extension() == ".pth" || path.filename().string().starts_with("pytorch_model");
}

// Error text for a path that is not a directory: its kind, and the path to give instead.
[[noreturn]] void fail_without_directory(const fs::path& path) {
  require(fs::exists(path), shown(path), ": no such directory");
  require(!is_pickle_name(path), shown(path), ", ", kPickle);
  if (fs::is_regular_file(path)) {
    const InputFile file(path);
    std::string start(std::min<std::size_t>(4, static_cast<std::size_t>(file.size())), '\0');
    file.read(0, std::as_writable_bytes(std::span<char>(start)));
    require(start != kGgufMagic, shown(path), ": is a GGUF file; rename it to ",
            in_quotes(path.filename().string() + ".gguf"));
  }
  fail(shown(path),
       ": is not a directory; expected a model directory, a FILE.gguf or nanoGPT's "
       "ckpt.pt");
}

// Returns the name of the format of a model file.
std::string_view format_of(const fs::path& file) {
  return is_gguf_file(file) ? "a GGUF" : "a PyTorch";
}

// Throws Error for a directory without config.json and ckpt.pt. The message names another program's
// file found there.
[[noreturn]] void fail_without_model(const fs::path& path) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  const auto model = std::find_if(files.begin(), files.end(), is_model_file);
  if (model != files.end()) {
    fail(shown(path), ": no model here, but ", format_of(*model), " file; use ", shown(*model));
  }
  const auto pickle = std::find_if(files.begin(), files.end(), is_pickle_name);
  if (pickle != files.end()) {
    fail(shown(*pickle), ", ", kPickle);
  }
  fail(shown(path),
       ": no model here: expected config.json or adapter_config.json, or a run directory with best "
       "or latest");
}

}  // namespace

bool is_model_file(const fs::path& path) { return is_gguf_file(path) || is_torch_file(path); }

fs::path find_model_directory(const fs::path& path) {
  require(!path.empty(), "expected a model or a run, got an empty name");
  if (is_model_file(path)) {
    require(fs::exists(path), shown(path), ": no such file");
    return path;
  }
  if (!fs::is_directory(path)) {
    fail_without_directory(path);
  }
  if (const std::optional<fs::path> found = model_in(path)) {
    return *found;
  }
  if (fs::exists(path / kNanoGptFile)) {
    return path / kNanoGptFile;
  }
  fail_without_model(path);
}

GptConfig read_effective_config(const fs::path& path, const WarningSink& warn,
                                const fs::path& base) {
  if (is_adapter(path)) {
    const fs::path found = checked_base(path, base);
    return adapted_config(path, found, read_effective_config(found, warn));
  }
  require_adapter_for(base, path);
  StoredModel model = open_model(path);
  model.weights.infer_missing_fields(model.config);
  check(model, warn);
  return model.config;
}

std::unique_ptr<Gpt> load_weights(const fs::path& path, const LoadOptions& options) {
  const fs::path directory = find_model_directory(path);
  require_adapter_for(options.base, directory);
  verify_model_files(directory);
  if (is_adapter(directory)) {
    const fs::path base = checked_base(directory, options.base);
    LoadOptions of_base = options;
    of_base.base.clear();
    if (!options.adapter) {
      return load_weights(base, of_base);
    }
    of_base.matrices = options.matrices ? std::optional(MatrixForm::float32) : std::nullopt;
    of_base.keeps_integers = false;
    std::unique_ptr<Gpt> model = load_weights(base, of_base);
    merge_adapter(directory, base, model);
    if (options.matrices && format_of(*options.matrices) != WeightFormat::float32) {
      in_place(shown(directory) + ": ",
               [&] { pack_all_matrices(*model, format_of(*options.matrices)); });
    }
    return model;
  }
  StoredModel stored = open_model(directory);
  GptConfig& config = stored.config;
  require(config.causal || options.bidirectional, "this needs a causal model; ", shown(directory),
          " is bidirectional (", stored.type, ")");
  stored.weights.infer_missing_fields(config);
  // Checks before allocating: a configuration may ask for more memory than the file holds.
  check(stored, options.warn);
  if (options.adjust) {
    options.adjust(config);
  }
  const std::optional<MatrixForm> form = options.keeps_integers && stored.weights.has_integers()
                                             ? MatrixForm::stored
                                             : options.matrices;
  std::unique_ptr<Gpt> model = is_packed(stored.weights, form)
                                   ? load_packed(directory, stored, *form, options)
                                   : load_plain(directory, stored, options);
  release_unused_storage();  // temporary memory of single tensors
  return model;
}

std::optional<double> stored_weight_bytes(const fs::path& path, bool layers_only,
                                          const fs::path& base) {
  const fs::path directory = find_model_directory(path);
  StoredModel stored =
      open_model(is_adapter(directory) ? base_of_adapter(directory, base) : directory);
  stored.weights.infer_missing_fields(stored.config);
  check(stored, {});
  return stored.weights.has_integers()
             ? std::optional(stored.weights.stored_bytes(stored.config, layers_only))
             : std::nullopt;
}

NamedTensors model_tensors(const Gpt& model) {
  return stored_tensors(model, family_for(model.config()).layout);
}

void require_exportable(const GptConfig& config) {
  require(!is_headlight(family_for(config)), "hf: ", nearest_refusal(config));
}

void simplify_heads(GptConfig& config) {
  const bool same_count = std::all_of(config.heads_per_layer.begin(), config.heads_per_layer.end(),
                                      [&](Index heads) { return heads == config.n_head; });
  const bool default_width =
      config.head_width == 0 || config.head_width * config.n_head == config.n_embd;
  if (same_count && default_width) {
    config.heads_per_layer.clear();
    config.head_width = 0;
  }
}

LoadedModel load_model(const fs::path& path, const LoadOptions& options) {
  const fs::path directory = find_model_directory(path);
  // Reads both at the same time, because a tokenizer takes as long as the weights of a small model.
  std::future<std::unique_ptr<Tokenizer>> tokenizer =
      std::async([&] { return load_tokenizer(directory, options.base); });
  LoadedModel loaded{
      .model = load_weights(directory, options), .tokenizer = {}, .directory = directory};
  loaded.tokenizer = tokenizer.get();
  const Index rows = loaded.model->config().vocab_size;
  if (options.warn && loaded.tokenizer->vocab_size() > rows) {
    options.warn(concat_text(shown(directory), ": the tokenizer has ",
                             loaded.tokenizer->vocab_size(), " tokens, the model rows for ", rows,
                             ": texts with tokens from id ", rows, " on are refused"));
  }
  return loaded;
}

LoadedModel load_model(const fs::path& path, DType dtype) {
  return load_model(path, LoadOptions{.dtype = dtype});
}

void load_parameters(const fs::path& path, LanguageModel& model) {
  const fs::path directory = find_model_directory(path);
  verify_model_files(directory);
  const fs::path config = directory / "config.json";
  const Json json = parse_json(read_whole_file(config, kLargestConfig), shown(config));
  const Json* type = json.find("model_type");
  require(type != nullptr && type->is_string() && type->text() == model.model_type(), shown(config),
          ": model_type: expected '", model.model_type(), "', got ",
          type == nullptr ? "none" : escaped(type->dump()));
  const fs::path file = directory / "model.safetensors";
  const NamedTensors tensors = read_safetensors(file);
  require_finite(tensors, shown(file) + ": ");
  copy_tensors(tensors, saved_tensors(model), shown(file));
}

namespace {

// Returns a model of this configuration with the weights of another. Weights that only the new one
// has stay blank: zeros in matrices, and norms that neither scale nor shift.
std::unique_ptr<Gpt> with_weights_of(const Gpt& model, const GptConfig& config) {
  std::unique_ptr<Gpt> result = Gpt::blank(config, model.dtype());
  const NamedTensors parameters = result->parameters();
  std::map<std::string, Tensor> into(parameters.begin(), parameters.end());
  for (const auto& [name, tensor] : model.parameters()) {
    into.at(name).copy_from(tensor);
  }
  return result;
}

}  // namespace

std::unique_ptr<Gpt> with_zero_mlps(const Gpt& model) {
  GptConfig config = model.config();
  require(config.mlp || config.norm == NormPosition::pre,
          "[with_zero_mlps] expected norm = pre: a norm behind an MLP changes what passes");
  config.mlp = true;
  return with_weights_of(model, config);
}

bool needs_default_scale(const GptConfig& config) {
  GptConfig unscaled = config;
  unscaled.attention_scale = 0;
  return config.attention_scale > 0 && !config.qk_norm && !has_limit(config) &&
         is_headlight(family_for(config)) && !is_headlight(family_for(unscaled));
}

std::unique_ptr<Gpt> with_default_scale(const Gpt& model) {
  GptConfig config = model.config();
  require(!config.qk_norm && !has_limit(config),
          "[with_usual_scale] expected queries that are neither normalised nor clipped");
  config.attention_scale = 0;
  const NoGrad no_grad;
  std::unique_ptr<Gpt> result = with_weights_of(model, config);
  for (const ModelWeight& weight : result->weights()) {
    if (weight.weight.part == Part::query_key_value) {
      const AttentionPlan plan = block_plan(model.config(), weight.weight.layer).attention;
      const double default_scale = 1 / std::sqrt(static_cast<double>(plan.head_width));
      const double scale = plan.scale > 0 ? plan.scale : default_scale;
      Tensor queries = slice(weight.tensor, 0, 0, plan.inner_width());
      queries.copy_from(queries * (scale / default_scale));
    }
  }
  return result;
}

}  // namespace headlight
