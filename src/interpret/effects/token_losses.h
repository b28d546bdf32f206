#pragma once

#include <vector>

#include "headlight/nn/language_model.h"

namespace headlight {

// Returns -log p(target) of each row of logits [N, V], in nats; 0 without a target.
std::vector<double> losses_of_rows(const Tensor& logits, const Tensor& targets);

// Returns the KL divergence of each row of logits [N, V] with a target from that of `before` [N,
// V], in nats; 0 without a target.
std::vector<double> divergences_of_rows(const Tensor& before, const Tensor& logits,
                                        const Tensor& targets);

// Returns losses_of_rows() from the hidden states [N, C] of a model.
std::vector<double> token_losses(const LanguageModel& model, const Tensor& hidden,
                                 const Tensor& targets);

}  // namespace headlight
