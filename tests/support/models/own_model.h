#pragma once

#include "headlight/nn/gpt.h"

// Third-party model: a Gpt with the required functions of a LanguageModel and those about heads.
class OwnModel final : public headlight::LanguageModel {
 public:
  explicit OwnModel(const headlight::GptConfig& config, std::uint64_t seed = 1)
      : inner(config, seed) {
    register_module("inner", inner);
  }

  headlight::Index vocab_size() const override { return inner.vocab_size(); }
  headlight::Index block_size() const override { return inner.block_size(); }
  headlight::Tensor logits(const headlight::Batch& batch,
                           const headlight::ForwardContext& context = {}) const override {
    return inner.logits(batch, context);
  }
  headlight::HeadLayout heads() const override {
    return shows_heads ? inner.heads() : headlight::HeadLayout{};
  }
  const headlight::CausalSelfAttention* attention(headlight::Index layer) const override {
    return inner.attention(layer);
  }

  headlight::Gpt inner;
  bool shows_heads = true;
};
