#include "generate/decoder_model.h"

#include <algorithm>
#include <utility>

#include "kernels/loops.h"
#include "nn/packed/packed_weight.h"

namespace headlight {
namespace {

NormWeights norm_of(const Gpt& model, Part part, Index layer) {
  const Tensor weight = model.weight(part, layer);
  const Tensor gain = model.config().norm_gain_plus_one ? weight + 1.0 : weight;
  const Tensor shift = model.bias(part, layer);
  return {gain, shift.defined() ? shift : Tensor::zeros(gain.shape())};
}

// Returns the panels that the model has, or packs them.
PackedMatrix panels_of(const Gpt& model, const Weight& weight, WeightFormat format) {
  const PackedMatrix* packed = packed_matrix(model, weight);
  return packed != nullptr ? *packed : in_place(weight.name + " ", [&] {
    return PackedMatrix(model.weight(weight.part, weight.layer),
                        model.bias(weight.part, weight.layer), format);
  });
}

// Returns a layer without weights.
DecoderLayer blank_layer(const GptConfig& config, Index layer) {
  DecoderLayer blank{.plan = block_plan(config, layer)};
  const AttentionPlan& attention = blank.plan.attention;
  if (attention.rope) {
    blank.inverse_frequencies = inverse_frequencies(*attention.rope, attention.head_width);
  }
  if (attention.rope && attention.rope->scaling == RopeScaling::longrope) {
    const Index longest = attention.rope->original_max_position_embeddings + 1;
    blank.long_inverse_frequencies =
        inverse_frequencies(at_length(*attention.rope, longest), attention.head_width);
  }
  return blank;
}

// Adds a layer. Its rotation gets a slot of its own unless an earlier layer has an equal one.
void add_layer(DecoderModel& model, DecoderLayer layer) {
  const AttentionPlan& plan = layer.plan.attention;
  const auto equal = std::ranges::find_if(model.layers, [&](const DecoderLayer& other) {
    return other.plan.attention.rope == plan.rope &&
           other.plan.attention.head_width == plan.head_width;
  });
  if (equal != model.layers.end()) {
    layer.rotary_offset = equal->rotary_offset;
  } else {
    layer.rotary_offset = model.rotary_width;
    model.rotary_width += 2 * std::ssize(layer.inverse_frequencies);
  }
  model.layers.push_back(std::move(layer));
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

void DecoderModel::embed_token(std::int32_t token, float* to) const {
  if (is_packed) {
    packed_embedding.unpack_row(token, to);
  } else {
    std::copy_n(token_embedding.data<float>() + token * width, width, to);
  }
}

DecoderModel::DecoderModel(const Gpt& model, WeightFormat format)
    : gpt(&model),
      width(model.config().n_embd),
      has_integers(true),
      is_packed(packed_token_embedding(model) != nullptr) {
  require(model.dtype() == DType::float32, "[Decoder] expected a float32 model, got ",
          model.dtype());
  require(model.config().causal, "[Decoder] expected a causal model, got a bidirectional one");
  if (!is_packed) {
    token_embedding = model.weight(Part::token_embedding);
  }
  position_embedding = model.weight(Part::position_embedding);
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    add_layer(*this, blank_layer(model.config(), layer));
  }
  if (!model.config().norm_weights) {
    norms.fill(plain_norm(model.config()));
    for (DecoderLayer& layer : layers) {
      layer.norms = norms;
    }
  }
  for (const auto& [weight, tensor] : model.weights()) {
    if (weight.part == Part::token_embedding && is_packed) {
      packed_embedding = *packed_matrix(model, weight);
    }
    const auto part = static_cast<std::size_t>(weight.part);
    const auto layer = static_cast<std::size_t>(std::max<Index>(0, weight.layer));
    if (is_hidden_matrix(weight)) {
      layers[layer].matrices[part] = panels_of(model, weight, format);
      has_integers = has_integers && layers[layer].matrices[part].has_integers();
    } else if (!weight.is_bias && tensor.rank() == 1) {
      (weight.layer == kNoLayer ? norms : layers[layer].norms)[part] =
          norm_of(model, weight.part, weight.layer);
    }
  }
  const PackedMatrix* packed = packed_head(model);
  head = packed != nullptr ? *packed : PackedMatrix(model.head_weight(), model.head_bias(), format);
}

}  // namespace headlight
