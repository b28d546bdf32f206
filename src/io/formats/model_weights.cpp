#include "io/formats/model_weights.h"

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "headlight/nn/architecture.h"
#include "headlight/ops/layout.h"
#include "io/safetensors_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

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
std::string first_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i > 0 ? ", " : "") + in_quotes(names[i]);
  }
  return names.size() > kShown ? text + " and " + std::to_string(names.size() - kShown) + " more"
                               : text;
}

// As it lies in the file, of a weight of this shape.
Shape file_shape(const StoredTensor& stored, const Shape& shape) {
  Shape result = shape;
  result[0] = stored.rows;
  return stored.transposed ? Shape{result[1], result[0]} : result;
}

// Whether its linear layers and norms all have biases, or none: what GPT-2's configuration can say.
bool has_one_bias_key(const GptConfig& config) {
  return !config.qkv_bias && !config.attention_output_bias && !config.mlp_bias;
}

// The name in files with a prefix.
std::string full_name(const std::string& name, const ModelFamily& family) {
  return name == family.head ? name : std::string(family.prefix) + name;
}

// Biases that GPT-2 has and a model without biases lacks.
NamedTensors zero_biases(const GptConfig& config, const ModelFamily& family) {
  GptConfig with_biases = config;
  with_biases.bias = true;
  NamedTensors biases;
  for (const Weight& weight : weights_of(with_biases)) {
    if (weight.is_bias) {
      biases.emplace_back(full_name(weight.name, family), Tensor::zeros(weight.shape));
    }
  }
  return biases;
}

// The token embedding of a family, or its head.
std::string stored_name(Part part, const ModelFamily& family) {
  const Weight weight{
      .name = part_name(part) + std::string(".weight"), .shape = {1, 1}, .part = part};
  return family.tensors_of(weight, {}).front().name;
}

// Rows [outer, first, second, rest] as [outer, second, first, rest].
Tensor reordered(const Tensor& x, const RowOrder& order) {
  if (order.first == 1 || order.second == 1) {
    return x;
  }
  const Index rest = x.numel() / (order.outer * order.first * order.second);
  const Tensor parts = reshape(x, {order.outer, order.first, order.second, rest});
  return reshape(permute(parts, {0, 2, 1, 3}), x.shape());
}

}  // namespace

NamedTensors stored_tensors(const Gpt& model, const ModelFamily& family) {
  NamedTensors result;
  for (const auto& [weight, tensor] : model.weights()) {
    const Tensor values = tensor.detach();
    Index begin = 0;
    for (const StoredTensor& stored : family.tensors_of(weight, model.config())) {
      const RowOrder back{stored.order.outer, stored.order.second, stored.order.first};
      const Tensor rows = reordered(slice(values, 0, begin, begin + stored.rows), back);
      result.emplace_back(full_name(stored.name, family),
                          stored.transposed ? transpose(rows) : rows);
      begin += stored.rows;
    }
  }
  if (family.has_all_biases && !model.config().bias && has_one_bias_key(model.config())) {
    for (auto& bias : zero_biases(model.config(), family)) {
      result.push_back(std::move(bias));
    }
  }
  return result;
}

ModelWeights::ModelWeights(const fs::path& directory, const ModelFamily& family) : family_(family) {
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

void ModelWeights::add_file(const fs::path& path) {
  const SafetensorsFile& file = files_.emplace_back(path);
  for (const SafetensorsEntry& entry : file.entries()) {
    const std::string_view prefix = family_.prefix;
    const std::string name =
        entry.name.starts_with(prefix) ? entry.name.substr(prefix.size()) : entry.name;
    const auto ends_it = [&](std::string_view end) { return name.ends_with(end); };
    if (std::none_of(family_.buffers.begin(), family_.buffers.end(), ends_it)) {
      require(tensors_.emplace(name, Place{&file, &entry}).second, shown(path), ": tensor ",
              in_quotes(entry.name), ": its weight has come before");
    }
  }
}

void ModelWeights::add_shards(const fs::path& index) {
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

Tensor ModelWeights::read(const std::string& name) const {
  const Place& place = tensors_.at(name);
  return place.file->read(*place.entry);
}

void ModelWeights::settle(GptConfig& config) {
  const auto head = tensors_.find(std::string(family_.head));
  const std::string embedding = stored_name(Part::token_embedding, family_);
  if (config.tie_weights && head != tensors_.end() && tensors_.contains(embedding)) {
    config.tie_weights = are_equal(read(head->first), read(embedding));
    if (config.tie_weights) {
      tensors_.erase(head);
    }
  }
  if (!family_.has_all_biases || config.bias || !has_one_bias_key(config)) {
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

void ModelWeights::check(const GptConfig& config) const {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::set<std::string> known;
  for (const Weight& weight : weights_of(config)) {
    for (const StoredTensor& stored : family_.tensors_of(weight, config)) {
      known.insert(stored.name);
      const auto found = tensors_.find(stored.name);
      if (found == tensors_.end()) {
        missing.push_back(full_name(stored.name, family_));
        continue;
      }
      const Shape& shape = found->second.entry->info.shape;
      const Shape expected = file_shape(stored, weight.shape);
      require(shape == expected, where_, ": tensor ", found->second.entry->name,
              ": expected shape ", expected, ", as config.json says, got ", shape);
    }
  }
  for (const auto& [name, place] : tensors_) {
    if (!known.contains(name)) {
      unexpected.push_back(place.entry->name);
    }
  }
  require(missing.empty() && unexpected.empty(), where_,
          ": does not fit config.json:", missing.empty() ? "" : " missing " + first_of(missing),
          missing.empty() || unexpected.empty() ? "" : ";",
          unexpected.empty() ? "" : " unexpected " + first_of(unexpected));
}

void ModelWeights::fill(const Weight& weight, const GptConfig& config, Tensor& parameter) const {
  Index begin = 0;
  for (const StoredTensor& stored : family_.tensors_of(weight, config)) {
    const Place& place = tensors_.at(stored.name);
    Tensor rows = slice(parameter, 0, begin, begin + stored.rows);
    begin += stored.rows;
    if (stored.transposed) {
      rows.copy_from(transpose(place.file->read(*place.entry)));
    } else if (stored.order.first > 1) {
      rows.copy_from(reordered(place.file->read(*place.entry), stored.order));
    } else if (weight.part == Part::position_embedding &&
               place.entry->info.shape != parameter.shape()) {
      rows.copy_from(slice(place.file->read(*place.entry), 0, 0, rows.size(0)));
    } else {
      place.file->read_into(*place.entry, rows);
    }
  }
}

void ModelWeights::read_into(Gpt& model) const {
  for (const auto& [weight, tensor] : model.weights()) {
    Tensor elements = tensor.detach();
    fill(weight, model.config(), elements);
  }
}

}  // namespace headlight
