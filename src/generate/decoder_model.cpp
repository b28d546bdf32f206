#include "generate/decoder_model.h"

namespace headlight {
namespace {

// Returns the weights of a norm; empty if the model has no such norm.
NormWeights norm_of(const Gpt& model, Part part, Index layer = kNoLayer) {
  const Tensor weight = model.weight(part, layer);
  if (!weight.defined()) {
    return {};
  }
  const Tensor gain = model.config().norm_gain_plus_one ? weight + 1.0 : weight;
  const Tensor shift = model.bias(part, layer);
  return {gain, shift.defined() ? shift : Tensor::zeros(gain.shape())};
}

DecoderLayer make_layer(const Gpt& model, Index layer, WeightFormat format) {
  const auto norm = [&](Part part) { return norm_of(model, part, layer); };
  const auto matrix = [&](Part part) {
    const Tensor weight = model.weight(part, layer);
    return weight.defined() ? PackedMatrix(weight, model.bias(part, layer), format)
                            : PackedMatrix();
  };
  const BlockPlan plan = block_plan(model.config(), layer);
  return {.plan = plan,
          .ln_1 = norm(Part::attention_norm),
          .attention_in = matrix(Part::query_key_value),
          .attention_out = matrix(Part::attention_output),
          .query_norm = norm(Part::query_norm),
          .key_norm = norm(Part::key_norm),
          .inverse_frequencies =
              plan.attention.rope
                  ? inverse_frequencies(*plan.attention.rope, plan.attention.head_width)
                  : std::vector<float>(),
          .ln_1_out = norm(Part::attention_output_norm),
          .ln_2_out = norm(Part::mlp_output_norm),
          .ln_2 = norm(Part::mlp_norm),
          .mlp_in = matrix(Part::mlp_in),
          .mlp_gate = matrix(Part::mlp_gate),
          .mlp_out = matrix(Part::mlp_out)};
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
  ln_f = norm_of(model, Part::final_norm);
  head = PackedMatrix(model.head_weight(), Tensor(), format);
}

}  // namespace headlight
