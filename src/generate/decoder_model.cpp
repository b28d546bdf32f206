#include "generate/decoder_model.h"

namespace headlight {
namespace {

NormWeights norm_of(const Gpt& model, Part part, Index layer = kNoLayer) {
  const Tensor weight = model.weight(part, layer);
  const Tensor gain = model.config().norm_gain_plus_one ? weight + 1.0 : weight;
  const Tensor shift = model.bias(part, layer);
  return {gain, shift.defined() ? shift : Tensor::zeros(gain.shape())};
}

DecoderLayer make_layer(const Gpt& model, Index layer, WeightFormat format) {
  const auto matrix = [&](Part part) {
    return PackedMatrix(model.weight(part, layer), model.bias(part, layer), format);
  };
  const BlockPlan plan = block_plan(model.config(), layer);
  DecoderLayer result{.plan = plan,
                      .ln_1 = norm_of(model, Part::attention_norm, layer),
                      .attention_in = matrix(Part::query_key_value),
                      .attention_out = matrix(Part::attention_output)};
  const auto add_norm = [&](NormWeights& norm, Part part) {
    if (model.weight(part, layer).defined()) {
      norm = norm_of(model, part, layer);
    }
  };
  add_norm(result.query_norm, Part::query_norm);
  add_norm(result.key_norm, Part::key_norm);
  add_norm(result.ln_1_out, Part::attention_output_norm);
  add_norm(result.ln_2, Part::mlp_norm);
  add_norm(result.ln_2_out, Part::mlp_output_norm);
  if (plan.attention.rope) {
    result.inverse_frequencies =
        inverse_frequencies(*plan.attention.rope, plan.attention.head_width);
  }
  if (plan.mlp_width) {
    result.mlp_in = matrix(Part::mlp_in);
    result.mlp_out = matrix(Part::mlp_out);
  }
  if (plan.gated_mlp) {
    result.mlp_gate = matrix(Part::mlp_gate);
  }
  return result;
}

}  // namespace

DecoderModel::DecoderModel(const Gpt& model, WeightFormat weight_format)
    : gpt(&model), format(weight_format), width(model.config().n_embd) {
  require(model.dtype() == DType::float32, "[Decoder] expected a float32 model, got ",
          model.dtype());
  token_embedding = model.weight(Part::token_embedding);
  position_embedding = model.weight(Part::position_embedding);
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    layers.push_back(make_layer(model, layer, format));
  }
  if (model.config().norm == NormPosition::pre) {
    ln_f = norm_of(model, Part::final_norm);
  }
  head = PackedMatrix(model.head_weight(), Tensor(), format);
}

}  // namespace headlight
