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

// What a model itself expects: the softmax of its logits, before a sampler's penalty, temperature
// and filters. Values are NaN when a logit is NaN or plus infinity.
class TokenDistribution {
 public:
  // logits [V], which must outlive the distribution. Throws Error when there are none.
  explicit TokenDistribution(std::span<const float> logits);

  // In nats. Throws Error for an id outside the vocabulary.
  double log_probability(std::int32_t token) const;
  // 1 for the likeliest token; among equal logits the lower id counts as likelier. Throws Error for
  // an id outside the vocabulary.
  Index rank(std::int32_t token) const;
  // In nats: 0 when only one token is possible, at most log V.
  double entropy() const { return entropy_; }
  // [V].
  std::vector<double> probabilities() const;
  // The mean of -log_probability() over tokens that come with probabilities [V], in nats: less that
  // of the distribution they belong to, it is the Kullback-Leibler divergence of this one from it.
  // Infinite where a token that may come is impossible here. Throws Error for another vocabulary.
  double cross_entropy(std::span<const double> probabilities) const;
  // So many tokens, the likeliest first; all V when `count` is larger.
  std::vector<TokenLogProbability> likeliest(Index count) const;

 private:
  double logit(std::int32_t token) const;

  std::span<const float> logits_;
  double largest_ = 0;  // logit
  double log_sum_ = 0;  // log of the sum of exp(logit - largest_)
  double entropy_ = 0;
};

}  // namespace headlight
