#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

struct TokenLogProbability {
  std::int32_t token = 0;
  double log_probability = 0;  // nats; minus infinity: impossible
};

// The model's own next-token distribution: the softmax of its logits, before penalties, temperature
// and filters. Values are NaN when a logit is NaN or plus infinity.
class TokenDistribution {
 public:
  // logits [V] must outlive the distribution. Throws Error when they are empty.
  explicit TokenDistribution(std::span<const float> logits);

  // Returns nats. Throws Error for an id outside the vocabulary.
  double log_probability(std::int32_t token) const;
  // Returns 1 for the most likely token; among equal logits the lower id ranks higher. Throws Error
  // for an id outside the vocabulary.
  Index rank(std::int32_t token) const;
  // Returns nats: 0 when only one token is possible, at most log V.
  double entropy() const { return entropy_; }
  // Returns the probabilities of all tokens, [V].
  std::vector<double> probabilities() const;
  // Returns the cross-entropy relative to probabilities [V], in nats. Minus the entropy of those
  // probabilities it is the Kullback-Leibler divergence. Infinite if a token with a probability
  // above 0 is impossible here. Throws Error for another vocabulary size.
  double cross_entropy(std::span<const double> probabilities) const;
  // Returns the `count` most likely tokens, the most likely first; at most V.
  std::vector<TokenLogProbability> likeliest(Index count) const;

 private:
  double logit(std::int32_t token) const;

  std::span<const float> logits_;
  double largest_ = 0;  // logit
  double log_sum_ = 0;  // log of the sum of exp(logit - largest_)
  double entropy_ = 0;
};

}  // namespace headlight
