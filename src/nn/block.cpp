#include "headlight/nn/gpt.h"

namespace headlight {
namespace {

NormOptions norm_options(const GptConfig& config, DType dtype) {
  return {.width = config.n_embd,
          .epsilon = config.layer_norm_epsilon,
          .bias = config.bias,
          .dtype = dtype};
}

// Streams of random numbers: 0 is the embedding's, then three for every layer.
std::uint64_t dropout_label(Index layer, Index place) {
  return static_cast<std::uint64_t>(1 + 3 * layer + place);
}

}  // namespace

Block::Block(const GptConfig& config, Index layer, DType dtype, const RandomStream& random,
             bool zeros)
    : norm_(config.norm),
      ln_1_(norm_options(config, dtype)),
      attn_({.width = config.n_embd,
             .heads = block_plan(config, layer).attention.heads,
             .head_width = block_plan(config, layer).attention.head_width,
             .bias = config.bias,
             .dropout = config.attention_dropout,
             .dropout_label = dropout_label(layer, 0),
             .layer = layer,
             .dtype = dtype,
             .zeros = zeros},
            random.fork(0)),
      attention_dropout_(config.residual_dropout, dropout_label(layer, 1)),
      mlp_dropout_(config.residual_dropout, dropout_label(layer, 2)) {
  register_module("ln_1", ln_1_);
  register_module("attn", attn_);
  if (config.mlp) {
    ln_2_.emplace(norm_options(config, dtype));
    mlp_.emplace(MlpOptions{.width = config.n_embd,
                            .inner_width = *block_plan(config, layer).mlp_width,
                            .activation = config.activation,
                            .bias = config.bias,
                            .dtype = dtype,
                            .zeros = zeros},
                 random.fork(1));
    register_module("ln_2", *ln_2_);
    register_module("mlp", *mlp_);
  }
}

Tensor Block::forward(const Tensor& x, const std::vector<Index>& offsets,
                      const ForwardContext& context) const {
  const auto drop = [&](const Tensor& y, const Dropout& dropout) {
    return dropout.forward(y, context);
  };
  if (norm_ == NormPosition::pre) {
    const Tensor middle =
        x + drop(attn_.forward_ragged(x, offsets, context, ln_1_.norm()), attention_dropout_);
    return mlp_ ? middle +
                      drop(mlp_->forward(middle, ln_2_->norm(), context.precision), mlp_dropout_)
                : middle;
  }
  const Tensor attended = attn_.forward_ragged(x, offsets, context);
  const Tensor middle = ln_1_.forward(x + drop(attended, attention_dropout_));
  return mlp_ ? ln_2_->forward(middle + drop(mlp_->forward(middle, std::nullopt, context.precision),
                                             mlp_dropout_))
              : middle;
}

Tensor Block::forward_cached(const Tensor& x, const KeyValueView& earlier) const {
  if (norm_ == NormPosition::pre) {
    const Tensor middle = x + attn_.forward_cached(ln_1_.forward(x), earlier);
    return mlp_ ? middle + mlp_->forward(middle, ln_2_->norm()) : middle;
  }
  const Tensor middle = ln_1_.forward(x + attn_.forward_cached(x, earlier));
  return mlp_ ? ln_2_->forward(middle + mlp_->forward(middle)) : middle;
}

}  // namespace headlight
