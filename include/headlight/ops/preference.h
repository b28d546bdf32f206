#pragma once

#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// Log-probabilities of pairs of answers to the same prompts, in nats.
struct PreferredPair {
  double chosen = 0;
  double rejected = 0;
};

struct PreferenceOptions {
  double beta = 0.1;     // how strongly the model is held to the reference
  Index normalizer = 0;  // divisor of the sum; 0: the number of pairs
};

// Direct preference optimization (Rafailov et al., arXiv 2305.18290, equation 7): the sum over P
// pairs of -log sigmoid(beta margin), divided by the normalizer. The margin is the difference of
// log-probabilities, chosen - rejected, less the same difference of the reference. token_losses [N]
// float64: -log probability of each token, 0 where it does not count. offsets [2 P + 1]: sequence 2
// i is the chosen answer of pair i, 2 i + 1 the rejected one. Returns a float64 scalar.
Tensor preference_loss(const Tensor& token_losses, const std::vector<Index>& offsets,
                       const std::vector<PreferredPair>& reference,
                       const PreferenceOptions& options = {});

// Returns the log-probabilities of the pairs: minus the sum of each sequence's token losses.
std::vector<PreferredPair> pair_log_probabilities(const Tensor& token_losses,
                                                  const std::vector<Index>& offsets);

// Returns the margin of each pair: see preference_loss().
std::vector<double> preference_margins(const std::vector<PreferredPair>& pairs,
                                       const std::vector<PreferredPair>& reference);

}  // namespace headlight
