#include "io/formats/gpt2.h"

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "headlight/nn/architecture.h"
#include "headlight/ops/layout.h"
#include "io/safetensors_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "transformer.";
constexpr const char* kHead = "lm_head.weight";
constexpr const char* kEmbedding = "wte.weight";

// The name without the prefix, which some checkpoints lack.
std::string own_name(const std::string& gpt2_name) {
  return gpt2_name.starts_with(kPrefix) ? gpt2_name.substr(kPrefix.size()) : gpt2_name;
}

// The weights that GPT-2 keeps as inputs x outputs (its class Conv1D), the transpose of ours.
bool is_conv1d(const Weight& weight) { return weight.multiplied && weight.layer != kNoLayer; }

// Causal masks, which old checkpoints carry along: "h.0.attn.bias", "h.0.attn.masked_bias".
bool is_mask_buffer(std::string_view own_name) {
  return own_name.ends_with(".attn.bias") || own_name.ends_with(".attn.masked_bias");
}

bool is_zero(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_vector();
  return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
}

bool are_equal(const Tensor& a, const Tensor& b) {
  const Tensor x = convert(a, DType::float32);
  const Tensor y = convert(b, DType::float32);
  return x.shape() == y.shape() &&
         std::equal(x.data<float>(), x.data<float>() + x.numel(), y.data<float>());
}

// The first names of a list, for a message.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i > 0 ? ", " : "") + in_quotes(names[i]);
  }
  return names.size() > kShown ? text + " and " + std::to_string(names.size() - kShown) + " more"
                               : text;
}

// As it lies in the file.
Shape file_shape(const Weight& weight) {
  return is_conv1d(weight) ? Shape{weight.shape[1], weight.shape[0]} : weight.shape;
}

// Whether its linear layers and norms all have biases, or none: what GPT-2's configuration can say.
bool has_one_bias_key(const GptConfig& config) {
  return !config.qkv_bias && !config.attention_output_bias && !config.mlp_bias;
}

// Biases that GPT-2 has and a model without biases lacks.
NamedTensors zero_biases(const GptConfig& config) {
  GptConfig with_biases = config;
  with_biases.bias = true;
  NamedTensors biases;
  for (const Weight& weight : weights_of(with_biases)) {
    if (weight.is_bias) {
      biases.emplace_back(gpt2_name(weight), Tensor::zeros(weight.shape));
    }
  }
  return biases;
}

}  // namespace

std::string gpt2_name(const Weight& weight) {
  return weight.part == Part::head ? weight.name : std::string(kPrefix) + weight.name;
}

NamedTensors gpt2_tensors(const Gpt& model) {
  NamedTensors result;
  for (const auto& [weight, tensor] : model.weights()) {
    const Tensor values = tensor.detach();
    result.emplace_back(gpt2_name(weight), is_conv1d(weight) ? transpose(values) : values);
  }
  if (!model.config().bias && has_one_bias_key(model.config())) {
    for (const auto& [name, tensor] : zero_biases(model.config())) {
      result.emplace_back(name, tensor);
    }
  }
  return result;
}

Gpt2Weights::Gpt2Weights(const fs::path& directory) {
  const fs::path whole = directory / "model.safetensors";
  const fs::path index = directory / "model.safetensors.index.json";
  std::error_code ignored;
  if (!fs::exists(whole, ignored) && fs::exists(index, ignored)) {
    where_ = shown(index);
    add_shards(index);
    return;
  }
  require(fs::exists(whole, ignored) || !fs::exists(directory / "pytorch_model.bin", ignored),
          shown(directory), ": pytorch_model.bin, a Python pickle, is not read; save the model as ",
          "model.safetensors");
  where_ = shown(whole);
  add_file(whole);
}

void Gpt2Weights::add_file(const fs::path& path) {
  const SafetensorsFile& file = files_.emplace_back(path);
  for (const SafetensorsEntry& entry : file.entries()) {
    const std::string name = own_name(entry.name);
    if (!is_mask_buffer(name)) {
      require(tensors_.emplace(name, Place{&file, &entry}).second, shown(path), ": tensor ",
              in_quotes(entry.name), ": its weight has come before");
    }
  }
}

void Gpt2Weights::add_shards(const fs::path& index) {
  const std::map<std::string, std::string> homes = read_shard_index(index);
  std::set<std::string> shards;
  for (const auto& [name, shard] : homes) {
    shards.insert(shard);
  }
  std::set<std::string> found;
  for (const std::string& shard : shards) {
    const fs::path path = index.parent_path() / shard;
    add_file(path);
    for (const SafetensorsEntry& entry : files_.back().entries()) {
      const auto home = homes.find(entry.name);
      require(home != homes.end() && home->second == shard, shown(path), ": tensor ",
              in_quotes(entry.name), ": ", where_,
              home == homes.end() ? " does not list it" : " lists it in another file");
      found.insert(entry.name);
    }
  }
  for (const auto& [name, shard] : homes) {
    require(found.contains(name), where_, ": tensor ", in_quotes(name), " is not in ",
            in_quotes(shard), ", where it is listed");
  }
}

Tensor Gpt2Weights::read(const std::string& name) const {
  const Place& place = tensors_.at(name);
  return place.file->read(*place.entry);
}

void Gpt2Weights::settle(GptConfig& config) {
  const auto head = tensors_.find(kHead);
  if (config.tie_weights && head != tensors_.end() && tensors_.contains(kEmbedding)) {
    config.tie_weights = are_equal(read(kHead), read(kEmbedding));
    if (config.tie_weights) {
      tensors_.erase(head);
    }
  }
  if (config.bias || !has_one_bias_key(config)) {
    return;
  }
  const auto is_bias = [](const auto& item) { return item.first.ends_with(".bias"); };
  config.bias = std::any_of(tensors_.begin(), tensors_.end(), [&](const auto& item) {
    return is_bias(item) && !is_zero(read(item.first));
  });
  if (!config.bias) {
    std::erase_if(tensors_, is_bias);
  }
}

void Gpt2Weights::check(const GptConfig& config) const {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::set<std::string> known;
  for (const Weight& weight : weights_of(config)) {
    known.insert(weight.name);
    const auto found = tensors_.find(weight.name);
    if (found == tensors_.end()) {
      missing.push_back(gpt2_name(weight));
      continue;
    }
    const Shape& shape = found->second.entry->info.shape;
    const Shape expected = file_shape(weight);
    require(shape == expected, where_, ": tensor ", found->second.entry->name, ": expected shape ",
            expected, ", as config.json says, got ", shape);
  }
  for (const auto& [name, place] : tensors_) {
    if (!known.contains(name)) {
      unexpected.push_back(place.entry->name);
    }
  }
  require(missing.empty() && unexpected.empty(), where_,
          ": does not fit config.json:", missing.empty() ? "" : " missing " + listed(missing),
          missing.empty() || unexpected.empty() ? "" : ";",
          unexpected.empty() ? "" : " unexpected " + listed(unexpected));
}

void Gpt2Weights::fill(const Weight& weight, Tensor& parameter) const {
  const Place& place = tensors_.at(weight.name);
  if (is_conv1d(weight)) {
    parameter.copy_from(transpose(place.file->read(*place.entry)));
  } else if (weight.part == Part::position_embedding &&
             place.entry->info.shape != parameter.shape()) {
    parameter.copy_from(slice(place.file->read(*place.entry), 0, 0, parameter.size(0)));
  } else {
    place.file->read_into(*place.entry, parameter);
  }
}

void Gpt2Weights::read_into(Gpt& model) const {
  for (const auto& [weight, tensor] : model.weights()) {
    Tensor elements = tensor.detach();
    fill(weight, elements);
  }
}

}  // namespace headlight
