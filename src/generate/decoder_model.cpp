#include "generate/decoder_model.h"

#include <algorithm>

#include "kernels/loops.h"

namespace headlight {
namespace {

NormWeights norm_of(const Gpt& model, Part part, Index layer) {
  const Tensor weight = model.weight(part, layer);
  const Tensor gain = model.config().norm_gain_plus_one ? weight + 1.0 : weight;
  const Tensor shift = model.bias(part, layer);
  return {gain, shift.defined() ? shift : Tensor::zeros(gain.shape())};
}

// Returns the parameters of norms that have no weights.
NormWeights plain_norm(const GptConfig& config) {
  const AttentionPlan plan = block_plan(config, 0).attention;
  const Index width = std::max(config.n_embd, plan.inner_width());
  return {Tensor::ones({width}), Tensor::zeros({width})};
}

}  // namespace

void DecoderModel::normalize(const NormWeights& norm, const float* from, float* to,
                             Index size) const {
  const GptConfig& config = gpt->config();
  const auto& loops = kernels::loops<float>();
  const auto& of_kind = config.norm_type == NormKind::rms ? loops.rms_norm : loops.layer_norm;
  float mean = 0;
  float inverse_deviation = 0;
  of_kind.value(from, norm.gain.data<float>(), norm.shift.data<float>(), to, size,
                static_cast<float>(config.layer_norm_epsilon), &mean, &inverse_deviation);
}

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
    if (attention.rope && attention.rope->scaling == RopeScaling::longrope) {
      const Index longest = attention.rope->original_max_position_embeddings + 1;
      layers.back().long_inverse_frequencies =
          inverse_frequencies(at_length(*attention.rope, longest), attention.head_width);
    }
  }
  if (!model.config().norm_weights) {
    ln_f = plain_norm(model.config());
    embedding_norm = ln_f;
    for (DecoderLayer& layer : layers) {
      layer.norms.fill(ln_f);
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
  if (model.config().norm_weights && model.config().has_final_norm()) {
    ln_f = norm_of(model, Part::final_norm, kNoLayer);
  }
  if (model.config().norm_weights && model.config().embedding_norm) {
    embedding_norm = norm_of(model, Part::embedding_norm, kNoLayer);
  }
  head = PackedMatrix(model.head_weight(), model.head_bias(), format);
}

}  // namespace headlight
