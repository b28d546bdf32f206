#include "generate/decoder_model.h"

#include <map>

namespace headlight {
namespace {

// The parameters of a model by name.
class Parameters {
 public:
  explicit Parameters(const Gpt& model) {
    for (const auto& [name, tensor] : model.parameters()) {
      tensors_[name] = tensor.detach();
    }
  }

  const Tensor& get(const std::string& name) const { return tensors_.at(name); }

  // Undefined when the model has none of that name.
  Tensor find(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? Tensor() : found->second;
  }

  PackedMatrix matrix(const std::string& name, WeightFormat format) const {
    return {get(name + ".weight"), find(name + ".bias"), format};
  }

  NormWeights norm(const std::string& name) const {
    const Tensor gain = get(name + ".weight");
    const Tensor shift = find(name + ".bias");
    return {gain, shift.defined() ? shift : Tensor::zeros(gain.shape())};
  }

 private:
  std::map<std::string, Tensor> tensors_;
};

DecoderLayer make_layer(const Gpt& model, const Parameters& parameters, Index layer,
                        WeightFormat format) {
  const std::string name = "h." + std::to_string(layer) + ".";
  DecoderLayer result{.heads = model.block(layer).attention().heads(),
                      .ln_1 = parameters.norm(name + "ln_1"),
                      .attention_in = parameters.matrix(name + "attn.c_attn", format),
                      .attention_out = parameters.matrix(name + "attn.c_proj", format)};
  if (model.config().mlp) {
    result.ln_2 = parameters.norm(name + "ln_2");
    result.mlp_in = parameters.matrix(name + "mlp.c_fc", format);
    result.mlp_out = parameters.matrix(name + "mlp.c_proj", format);
  }
  return result;
}

}  // namespace

DecoderModel::DecoderModel(const Gpt& model, WeightFormat weight_format)
    : gpt(&model),
      format(weight_format),
      width(model.config().n_embd),
      head_width(model.block(0).attention().head_width()) {
  require(model.dtype() == DType::float32, "[Decoder] expected a float32 model, got ",
          model.dtype());
  const Parameters parameters(model);
  token_embedding = parameters.get("wte.weight");
  position_embedding = parameters.get("wpe.weight");
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    layers.push_back(make_layer(model, parameters, layer, format));
  }
  if (model.config().norm == NormPosition::pre) {
    ln_f = parameters.norm("ln_f");
  }
  head = PackedMatrix(model.head_weight(), Tensor(), format);
}

}  // namespace headlight
