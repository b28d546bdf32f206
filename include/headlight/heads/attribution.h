#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/head_id.h"
#include "headlight/nn/gpt.h"

namespace headlight {

struct AttributionTask {
  std::vector<std::int32_t> text;            // [T]
  std::int32_t target = 0;                   // the token whose logit is taken apart
  std::optional<std::int32_t> against = {};  // with one, its logit is subtracted
  std::optional<Index> position = {};        // of the query, from 0; without: the last one
};

// A part of the sum that a logit is.
struct LogitPart {
  std::string name;                 // "embedding", "0.3", "0.attn.bias", "0.mlp", "ln_f.bias"
  std::optional<HeadId> head = {};  // of parts that are heads
  double logit = 0;
};

struct AttributionResult {
  double logit = 0;              // of the target, or its difference
  std::vector<LogitPart> parts;  // sum to `logit`, in the order in which the model adds them
  double probability = 0;        // of the target at the position
  std::int32_t likeliest = 0;    // the token with the largest logit there
  bool is_choice = false;        // that is the target, or no likelier
  bool has_against = false;      // `logit` is a difference
  Index visible = 0;             // tokens that heads can look at from there
};

// Tokens from which on a position has something to look back on.
inline constexpr Index kEnoughTokens = 8;

// In one line, why the parts explain nothing that the model does: it does not choose the target
// (with `against`: does not prefer it, or hardly, less than twice as likely), or has hardly any
// tokens to look at; "" otherwise. The labels are those of the target and of what stands against
// it, or of the likeliest token.
std::string attribution_caution(const AttributionResult& result, const std::string& target_label,
                                const std::string& other_label);

// Direct logit attribution (Elhage et al., "A Mathematical Framework for Transformer Circuits",
// 2021): the residual stream before the head is a sum of what the embedding, every attention head
// and every MLP wrote into it, and so, with the scale of the last norm taken as it is, is a logit.
// Throws Error for models with another order of the norms, whose residual stream is no such sum;
// for an empty text or one longer than the block, and ids or a position out of range.
AttributionResult attribute_logit(const Gpt& model, const AttributionTask& task);

}  // namespace headlight
