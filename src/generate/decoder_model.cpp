#include "generate/decoder_model.h"

namespace headlight {
namespace {

NormWeights norm_of(const Gpt& model, Part part, Index layer) {
  const Tensor weight = model.weight(part, layer);
  const Tensor gain = model.config().norm_gain_plus_one ? weight + 1.0 : weight;
  const Tensor shift = model.bias(part, layer);
  return {gain, shift.defined() ? shift : Tensor::zeros(gain.shape())};
}

}  // namespace

DecoderModel::DecoderModel(const Gpt& model, WeightFormat weight_format)
    : gpt(&model), format(weight_format), width(model.config().n_embd) {
  require(model.dtype() == DType::float32, "[Decoder] expected a float32 model, got ",
          model.dtype());
  require(model.config().causal, "[Decoder] expected a causal model, got a bidirectional one");
  token_embedding = model.weight(Part::token_embedding);
  position_embedding = model.weight(Part::position_embedding);
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    const BlockPlan plan = block_plan(model.config(), layer);
    const AttentionPlan& attention = plan.attention;
    layers.push_back({.plan = plan});
    if (attention.rope) {
      layers.back().inverse_frequencies =
          inverse_frequencies(*attention.rope, attention.head_width);
    }
  }
  for (const auto& [weight, tensor] : model.weights()) {
    if (weight.layer == kNoLayer || weight.is_bias) {
      continue;
    }
    DecoderLayer& layer = layers[static_cast<std::size_t>(weight.layer)];
    const auto part = static_cast<std::size_t>(weight.part);
    if (weight.multiplied) {
      layer.matrices[part] = PackedMatrix(model.weight(weight.part, weight.layer),
                                          model.bias(weight.part, weight.layer), format);
    } else {
      layer.norms[part] = norm_of(model, weight.part, weight.layer);
    }
  }
  if (model.config().norm == NormPosition::pre) {
    ln_f = norm_of(model, Part::final_norm, kNoLayer);
  }
  head = PackedMatrix(model.head_weight(), model.head_bias(), format);
}

}  // namespace headlight
