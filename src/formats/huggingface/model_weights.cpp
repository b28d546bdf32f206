#include "formats/huggingface/model_weights.h"

#include <algorithm>
#include <set>

#include "base/share.h"
#include "base/strings/printable.h"
#include "headlight/nn/architecture.h"
#include "headlight/ops/layout.h"
#include "nn/packed/packed_weight.h"

namespace headlight {
namespace {

bool is_packed(const Weight& weight, bool layers_only) {
  return layers_only ? is_hidden_matrix(weight) : is_packable(weight);
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

// Returns the first names of a list, for a message.
std::string first_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i > 0 ? ", " : "") + in_quotes(names[i]);
  }
  return names.size() > kShown ? text + " and " + std::to_string(names.size() - kShown) + " more"
                               : text;
}

// True if all linear layers and norms have biases or none has, as in GPT-2's configuration.
bool has_one_bias_key(const GptConfig& config) {
  return !config.qkv_bias && !config.attention_output_bias && !config.mlp_bias;
}

// Returns zeros for the biases of GPT-2 that a model without biases lacks.
NamedTensors zero_biases(const GptConfig& config, const WeightLayout& layout) {
  GptConfig with_biases = config;
  with_biases.bias = true;
  NamedTensors biases;
  for (const Weight& weight : weights_of(with_biases)) {
    if (weight.is_bias && weight.part != Part::head) {
      const std::string name = layout.tensors_of(weight, with_biases).front().name;
      biases.emplace_back(full_name(name, layout), Tensor::zeros(weight.shape));
    }
  }
  return biases;
}

// Returns the elements plus `shift`.
Tensor shifted(const Tensor& x, float shift) {
  if (shift == 0) {
    return x;
  }
  Tensor result = convert(x, DType::float32).clone();
  auto* values = result.data<float>();
  std::transform(values, values + result.numel(), values,
                 [shift](float value) { return value + shift; });
  return result;
}

// Shows the share of a model's weights that are read.
class ReadShare {
 public:
  ReadShare(const Gpt& model, const std::function<void(double)>& show) : show_(show) {
    for (const Weight& weight : weights_of(model.config())) {
      all_ += numel(weight.shape);
    }
  }

  void add(const Weight& weight) {
    read_ += numel(weight.shape);
    show_(share_of(read_, all_));
  }

 private:
  const std::function<void(double)>& show_;
  Index read_ = 0;  // elements
  Index all_ = 0;
};

// Replaces the old endings of a norm's weights, .gamma and .beta, by the new ones.
std::string with_new_ending(std::string name) {
  for (const auto& [old_end, end] : {std::pair{".gamma", ".weight"}, std::pair{".beta", ".bias"}}) {
    if (name.ends_with(old_end)) {
      name.replace(name.rfind('.'), std::string::npos, end);
    }
  }
  return name;
}

// Converts rows of a weight to the layout of the file.
Tensor as_stored(const StoredTensor& stored, const Tensor& rows) {
  const RowOrder back{stored.order.outer, stored.order.second, stored.order.first};
  const Tensor result = shifted(reordered_rows(rows, back), stored.shift);
  return stored.transposed ? transpose(result) : result;
}

// Returns the row of the file for each row of a weight.
std::vector<Index> rows_in_file(const StoredTensor& stored) {
  const auto [outer, first, second] = stored.order;
  const Index rest = stored.rows / (outer * first * second);
  std::vector<Index> rows;
  for (Index row = 0; row < stored.rows; ++row) {
    const Index f = row / rest % first;
    const Index s = row / (rest * first) % second;
    const Index o = row / (rest * first * second);
    rows.push_back(stored.file_begin + ((o * first + f) * second + s) * rest + row % rest);
  }
  return rows;
}

// Adds rows of a weight to the tensors of a file. Tensors of several weights begin as zeros.
void add_stored(NamedTensors& tensors, const std::string& name, const StoredTensor& stored,
                const Tensor& rows) {
  if (stored.file_rows == 0) {
    tensors.emplace_back(name, as_stored(stored, rows));
    return;
  }
  auto found = std::ranges::find(tensors, name, &NamedTensors::value_type::first);
  if (found == tensors.end()) {
    tensors.emplace_back(name, Tensor::zeros(file_shape(stored, rows.shape()), rows.dtype()));
    found = tensors.end() - 1;
  }
  Tensor destination = slice(found->second, 0, stored.file_begin, stored.file_begin + stored.rows);
  destination.copy_from(as_stored(stored, rows));
}

}  // namespace

Tensor reordered_rows(const Tensor& x, const RowOrder& order) {
  if (order.first == 1 || order.second == 1) {
    return x;
  }
  const Index rest = x.numel() / (order.outer * order.first * order.second);
  const Tensor parts = reshape(x, {order.outer, order.first, order.second, rest});
  return reshape(permute(parts, {0, 2, 1, 3}), x.shape());
}

Shape file_shape(const StoredTensor& stored, const Shape& shape) {
  Shape result = shape;
  result[0] = stored.file_rows > 0 ? stored.file_rows : stored.rows;
  return stored.transposed ? Shape{result[1], result[0]} : result;
}

std::string full_name(const std::string& name, const WeightLayout& layout) {
  const bool of_head =
      name == layout.head || (!layout.head_names.empty() && name.starts_with(layout.head_names));
  return of_head ? name : std::string(layout.prefix) + name;
}

std::string stored_name(Part part, const WeightLayout& layout) {
  const Weight weight{
      .name = part_name(part) + std::string(".weight"), .shape = {1, 1}, .part = part};
  return layout.tensors_of(weight, {}).front().name;
}

Tensor as_ours(const StoredTensor& stored, const Tensor& x) {
  Tensor rows = stored.transposed ? transpose(x) : x;
  if (stored.file_rows > 0) {
    rows = to_contiguous(slice(rows, 0, stored.file_begin, stored.file_begin + stored.rows));
  }
  return shifted(reordered_rows(rows, stored.order), -stored.shift);
}

NamedTensors stored_tensors(const Gpt& model, const WeightLayout& layout) {
  NamedTensors result;
  for (const auto& [weight, tensor] : model.weights()) {
    const Tensor values = tensor.detach();
    Index begin = 0;
    for (const StoredTensor& stored : layout.tensors_of(weight, model.config())) {
      add_stored(result, full_name(stored.name, layout), stored,
                 slice(values, 0, begin, begin + stored.rows));
      begin += stored.rows;
    }
  }
  if (layout.has_all_biases && !model.config().bias && has_one_bias_key(model.config())) {
    for (auto& bias : zero_biases(model.config(), layout)) {
      result.push_back(std::move(bias));
    }
  }
  return result;
}

ModelWeights::ModelWeights(WeightFiles files, const WeightLayout& layout)
    : files_(std::move(files)), layout_(layout) {
  for (const FileTensor& tensor : files_.tensors) {
    const std::string_view prefix = layout.prefix;
    std::string name =
        tensor.name.starts_with(prefix) ? tensor.name.substr(prefix.size()) : tensor.name;
    name = layout.old_norm_names ? with_new_ending(std::move(name)) : name;
    const auto ends_it = [&](std::string_view end) { return name.ends_with(end); };
    if (std::none_of(layout.buffers.begin(), layout.buffers.end(), ends_it)) {
      require(tensors_.emplace(name, &tensor).second, files_.where, ": tensor ",
              in_quotes(tensor.name), ": its weight appears twice");
    }
  }
}

void ModelWeights::infer_missing_fields(GptConfig& config) {
  config.masked_head =
      config.masked_head && tensors_.contains(stored_name(Part::head_transform, layout_));
  const auto head = tensors_.find(std::string(layout_.head));
  const std::string embedding = stored_name(Part::token_embedding, layout_);
  if (config.tie_weights && head != tensors_.end() && tensors_.contains(embedding)) {
    config.tie_weights = are_equal(head->second->read(), tensors_.at(embedding)->read());
    if (config.tie_weights) {
      tensors_.erase(head);
    }
  }
  if (!layout_.has_all_biases || config.bias || !has_one_bias_key(config)) {
    return;
  }
  const auto is_bias = [](const auto& item) {
    return item.first.ends_with(".bias") && item.first != "lm_head.bias";
  };
  config.bias = std::any_of(tensors_.begin(), tensors_.end(), [&](const auto& item) {
    return is_bias(item) && !is_zero(item.second->read());
  });
  if (!config.bias) {
    std::erase_if(tensors_, is_bias);
  }
}

std::string ModelWeights::check(const GptConfig& config) const {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  bool harmless = !layout_.layers.empty();
  std::set<std::string> known;
  for (const Weight& weight : weights_of(config)) {
    for (const StoredTensor& stored : layout_.tensors_of(weight, config)) {
      known.insert(stored.name);
      const auto found = tensors_.find(stored.name);
      if (found == tensors_.end()) {
        missing.push_back(full_name(stored.name, layout_));
        continue;
      }
      const Shape& shape = found->second->shape;
      const Shape expected = file_shape(stored, weight.shape);
      require(shape == expected, files_.where, ": tensor ", found->second->name,
              ": expected shape ", expected, " according to ", files_.described_by, ", got ",
              shape);
    }
  }
  for (const auto& [name, tensor] : tensors_) {
    if (!known.contains(name)) {
      unexpected.push_back(tensor->name);
      harmless = harmless && !name.starts_with(layout_.layers);
    }
  }
  require(missing.empty() && (unexpected.empty() || harmless), files_.where, ": does not match ",
          files_.described_by, ":", missing.empty() ? "" : " missing " + first_of(missing),
          missing.empty() || unexpected.empty() ? "" : ";",
          unexpected.empty() ? "" : " unexpected " + first_of(unexpected));
  return unexpected.empty() ? ""
                            : concat_text(files_.where, ": ignored ", first_of(unexpected),
                                          ": not weights of this model");
}

void ModelWeights::read_weight(const Weight& weight, const GptConfig& config,
                               const Tensor& to) const {
  Index begin = 0;
  for (const StoredTensor& stored : layout_.tensors_of(weight, config)) {
    const FileTensor& file = *tensors_.at(stored.name);
    Tensor rows = slice(to, 0, begin, begin + stored.rows);
    begin += stored.rows;
    const bool as_it_lies = !stored.transposed && stored.order.first == 1 && stored.shift == 0 &&
                            stored.file_rows == 0 && file.shape == rows.shape();
    if (as_it_lies) {
      file.read_into(rows);
    } else {
      const Tensor values = as_ours(stored, file.read());
      rows.copy_from(slice(values, 0, 0, rows.size(0)));  // the model may have fewer positions
    }
  }
}

void ModelWeights::read_into(Gpt& model, const std::function<void(double)>& progress) const {
  ReadShare share(model, progress);
  for (const auto& [weight, tensor] : model.weights()) {
    read_weight(weight, model.config(), tensor.detach());
    share.add(weight);
  }
}

bool ModelWeights::has_integers() const {
  return std::any_of(tensors_.begin(), tensors_.end(),
                     [](const auto& item) { return item.second->panels.has_value(); });
}

double ModelWeights::stored_bytes(const GptConfig& config, bool layers_only) const {
  double bytes = 0;
  std::atomic<bool> is_finite{true};  // nothing is read
  for (const Weight& weight : weights_of(config)) {
    if (!is_packed(weight, layers_only)) {
      bytes += 4 * static_cast<double>(numel(weight.shape));
      continue;
    }
    std::vector<PackedRows> parts = integer_rows(weight, config, is_finite);
    if (parts.empty()) {
      parts.push_back(
          {.count = weight.shape[0], .layout = float_format(weight, config, MatrixForm::stored)});
    }
    bytes += static_cast<double>(PackedMatrix::bytes_of(weight.shape[1], parts));
  }
  return bytes;
}

// Returns rows with the file's numbers; none if some of them cannot stay as they are stored.
std::vector<PackedRows> ModelWeights::integer_rows(const Weight& weight, const GptConfig& config,
                                                   std::atomic<bool>& is_finite) const {
  std::vector<PackedRows> parts;
  Index row = 0;
  for (const StoredTensor& stored : layout_.tensors_of(weight, config)) {
    const std::optional<FilePanels>& panels = tensors_.at(stored.name)->panels;
    if (!panels || stored.transposed || stored.shift != 0) {
      return {};
    }
    const kernels::PanelLayout layout(panels->layout);
    if (row % kernels::kPanelRows != 0 && !(parts.back().layout == layout)) {
      return {};
    }
    row += stored.rows;
    parts.push_back({.count = stored.rows,
                     .layout = layout,
                     .pack = [&pack = panels->pack, &is_finite, rows = rows_in_file(stored)](
                                 Index first, Index count, Index lane, void* panel) {
                       const auto some = std::span(rows).subspan(static_cast<std::size_t>(first),
                                                                 static_cast<std::size_t>(count));
                       if (!pack(some, lane, panel)) {
                         is_finite = false;
                       }
                     }});
  }
  return parts;
}

// Returns the format of a matrix that does not stay as integers. An embedding that is not the head
// keeps its numbers.
WeightFormat ModelWeights::float_format(const Weight& weight, const GptConfig& config,
                                        MatrixForm form) const {
  if (weight.multiplied) {
    return format_of(form);
  }
  const std::vector<StoredTensor> parts = layout_.tensors_of(weight, config);
  const bool fits = std::all_of(parts.begin(), parts.end(), [this](const StoredTensor& stored) {
    return tensors_.at(stored.name)->is_bfloat16 && stored.shift == 0;
  });
  return fits ? WeightFormat::bfloat16 : WeightFormat::float32;
}

// Returns rows that are rounded to a format as they are read; none if some are stored in columns
// of the file, or differ there by a shift.
std::vector<PackedRows> ModelWeights::float_rows(const Weight& weight, const GptConfig& config,
                                                 WeightFormat format) const {
  std::vector<PackedRows> parts;
  for (const StoredTensor& stored : layout_.tensors_of(weight, config)) {
    const FileTensor& file = *tensors_.at(stored.name);
    if (!file.read_rows || stored.transposed || stored.shift != 0) {
      return {};
    }
    const bool keeps_all = format == WeightFormat::bfloat16 && file.is_bfloat16;
    const auto pack = [&file, format, name = weight.name, where = files_.where + ": ",
                       rows = rows_in_file(stored)](Index first, Index count, Index lane,
                                                    void* panel) {
      auto left =
          std::span(rows).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
      while (!left.empty()) {
        const std::size_t run = consecutive_rows(left);
        Tensor values = file.read_rows(left[0], static_cast<Index>(run));
        values = values.dtype() == DType::bfloat16 ? values : convert(values, DType::float32);
        require_finite({{name, values}}, where);
        in_place(where + name + " ", [&] { pack_rows(values, format, lane, panel); });
        lane += static_cast<Index>(run);
        left = left.subspan(run);
      }
    };
    parts.push_back({.count = stored.rows,
                     .layout = format,
                     .is_rounded = format != WeightFormat::float32 && !keeps_all,
                     .pack = pack});
  }
  return parts;
}

PackedMatrix ModelWeights::packed(const Weight& weight, const Gpt& model, MatrixForm form) const {
  const GptConfig& config = model.config();
  const Tensor bias = bias_of(model, weight);
  std::atomic<bool> is_finite{true};
  std::vector<PackedRows> parts;
  if (form == MatrixForm::stored) {
    parts = integer_rows(weight, config, is_finite);
  }
  const WeightFormat format = float_format(weight, config, form);
  if (parts.empty()) {
    parts = float_rows(weight, config, format);
  }
  if (!parts.empty()) {
    PackedMatrix matrix(weight.shape[1], parts, bias);
    require(is_finite, files_.where, ": ", weight.name, " contains values that are not finite");
    return matrix;
  }
  const Tensor values = Tensor::empty(weight.shape);
  read_weight(weight, config, values);
  require_finite({{weight.name, values}}, files_.where + ": ");
  return in_place(concat_text(files_.where, ": ", weight.name, " "),
                  [&] { return PackedMatrix(values, bias, format); });
}

void ModelWeights::pack_into(Gpt& model, MatrixForm form, bool layers_only,
                             const std::function<void(double)>& progress) const {
  ReadShare share(model, progress);
  for (const auto& [weight, tensor] : model.weights()) {
    Tensor(tensor).set_requires_grad(false);
    if (!is_packed(weight, layers_only)) {
      read_weight(weight, model.config(), tensor.detach());
      require_finite({{weight.name, tensor.detach()}}, files_.where + ": ");
      share.add(weight);
    }
  }
  for (const auto& [weight, tensor] : model.weights()) {
    if (is_packed(weight, layers_only)) {
      store_packed(model, weight, packed(weight, model, form));
      share.add(weight);
    }
  }
}

}  // namespace headlight
