#include "headlight/io/model_directory.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "headlight/io/file_writer.h"
#include "headlight/io/manifest.h"
#include "headlight/io/safetensors.h"
#include "headlight/io/tokenizer_directory.h"
#include "headlight/ops/layout.h"
#include "headlight/text/tokenizer_file.h"
#include "io/gpt2_config.h"
#include "io/input_file.h"
#include "text/printable.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestConfig = Index{1} << 20;  // bytes
constexpr std::string_view kPrefix = "transformer.";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// GPT-2's checkpoints keep these weights as inputs x outputs, the transpose of ours.
bool is_transposed(std::string_view name) {
  return ends_with(name, "c_attn.weight") || ends_with(name, "c_proj.weight") ||
         ends_with(name, "c_fc.weight");
}

// Causal masks, which old checkpoints carry along.
bool is_mask_buffer(std::string_view name) {
  return ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias");
}

std::string without_prefix(const std::string& name) {
  return name.rfind(kPrefix, 0) == 0 ? name.substr(kPrefix.size()) : name;
}

std::string with_prefix(const std::string& name) {
  return name.rfind("lm_head", 0) == 0 ? name : std::string(kPrefix) + name;
}

Tensor flipped(const std::string& name, const Tensor& tensor) {
  return is_transposed(name) && tensor.rank() == 2 ? transpose(tensor) : tensor;
}

// The name and shape that GPT-2 has there and a model without biases lacks.
NamedTensors missing_biases(const NamedTensors& parameters) {
  NamedTensors biases;
  for (const auto& [name, tensor] : parameters) {
    const std::string stem = name.substr(0, name.rfind('.'));
    if (stem != "wte" && stem != "wpe" && stem != "lm_head") {
      biases.emplace_back(stem + ".bias", Tensor::zeros({tensor.size(0)}));
    }
  }
  return biases;
}

bool is_zero(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_vector();
  return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
}

NamedTensors gpt2_tensors(const Gpt& model) {
  NamedTensors result;
  for (const auto& [name, tensor] : model.parameters()) {
    result.emplace_back(with_prefix(name), flipped(name, tensor.detach()));
  }
  if (!model.config().bias) {
    for (const auto& [name, tensor] : missing_biases(model.parameters())) {
      result.emplace_back(with_prefix(name), tensor);
    }
  }
  return result;
}

// The tensors of the file under the names and with the layout that Gpt::parameters() has.
NamedTensors own_tensors(const NamedTensors& file, const GptConfig& config,
                         const std::string& where) {
  NamedTensors result;
  for (const auto& [full_name, tensor] : file) {
    const std::string name = without_prefix(full_name);
    const bool tied_copy = config.tie_weights && name == "lm_head.weight";
    if (is_mask_buffer(name) || tied_copy) {
      continue;
    }
    if (!config.bias && ends_with(name, ".bias")) {
      require(is_zero(tensor), where, ": ", name,
              ": the model has no biases, but this is not zero");
      continue;
    }
    result.emplace_back(name, flipped(name, tensor));
  }
  return result;
}

void write_small_files(const fs::path& directory, const Gpt& model, const Tokenizer& tokenizer) {
  const nlohmann::ordered_json tokenizer_config{{"tokenizer_class", "PreTrainedTokenizerFast"},
                                                {"bos_token", kEndOfTextName},
                                                {"eos_token", kEndOfTextName},
                                                {"model_max_length", model.config().block_size},
                                                {"clean_up_tokenization_spaces", false}};
  const nlohmann::ordered_json generation_config{{"bos_token_id", tokenizer.end_of_text()},
                                                 {"eos_token_id", tokenizer.end_of_text()}};
  write_file(directory / "tokenizer_config.json", tokenizer_config.dump(2) + "\n");
  write_file(directory / "generation_config.json", generation_config.dump(2) + "\n");
}

}  // namespace

void copy_tensors(const NamedTensors& from, const NamedTensors& into, const std::string& where) {
  std::map<std::string, Tensor> sources(from.begin(), from.end());
  for (const auto& [name, target] : into) {
    const auto source = sources.find(name);
    require(source != sources.end(), where, ": tensor ", name, " is missing");
    require(source->second.shape() == target.shape(), where, ": tensor ", name, ": expected shape ",
            target.shape(), ", got ", source->second.shape());
    Tensor elements = target;
    elements.copy_from(source->second);
    sources.erase(source);
  }
  require(sources.empty(), where, ": unexpected tensor ",
          sources.empty() ? "" : in_quotes(sources.begin()->first));
}

fs::path find_model_directory(const fs::path& path) {
  require(fs::is_directory(path), shown(path), ": no such directory");
  for (const char* place : {".", "best", "latest"}) {
    if (fs::exists(path / place / "config.json")) {
      return std::string_view(place) == "." ? path : path / place;
    }
  }
  fail(shown(path),
       ": no model here: expected config.json, or a run directory with best or latest");
}

GptConfig read_model_config(const fs::path& directory) {
  const fs::path path = directory / "config.json";
  return parse_gpt2_config(read_text_file(path, kLargestConfig), shown(path));
}

LoadedModel load_model(const fs::path& path, DType dtype) {
  const fs::path directory = find_model_directory(path);
  if (has_manifest(directory)) {
    verify_manifest(directory);
  }
  const GptConfig config = read_model_config(directory);
  LoadedModel loaded{
      .model = nullptr, .tokenizer = load_tokenizer(directory), .directory = directory};
  require(loaded.tokenizer->vocab_size() <= config.vocab_size, shown(directory / "tokenizer.json"),
          ": ", loaded.tokenizer->vocab_size(), " tokens do not fit the model's vocabulary of ",
          config.vocab_size);
  const fs::path weights_path = directory / "model.safetensors";
  NamedTensors weights = own_tensors(read_safetensors(weights_path), config, shown(weights_path));
  Index elements = 0;
  for (const auto& [name, tensor] : weights) {
    elements += tensor.numel();
  }
  // A configuration that asks for more than the file holds must not get the memory first.
  const Index expected = count_parameters(config).total();
  require(elements == expected, shown(weights_path), ": ", elements,
          " elements, but config.json describes a model of ", expected);
  loaded.model = Gpt::blank(config, dtype);
  copy_tensors(weights, loaded.model->parameters(), shown(weights_path));
  weights.clear();
  release_unused_storage();  // the file's tensors are as large as the model
  return loaded;
}

void write_model_files(const fs::path& directory, const Gpt& model, const Tokenizer& tokenizer) {
  write_file(directory / "config.json", gpt2_config_json(model.config(), tokenizer));
  write_file(directory / "tokenizer.json", to_tokenizer_json(tokenizer));
  write_small_files(directory, model, tokenizer);
  write_safetensors(directory / "model.safetensors", gpt2_tensors(model));
}

}  // namespace headlight
