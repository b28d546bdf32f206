#include "headlight/nn/token_distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headlight/base/error.h"

namespace headlight {

// Subtracts the largest logit before exp, so that no sum overflows.
TokenDistribution::TokenDistribution(std::span<const float> logits) : logits_(logits) {
  require(!logits.empty(), "[TokenDistribution] expected logits [V], got none");
  largest_ = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  double weighted = 0;  // sum of exp(x) x, with x = logit - largest_
  for (const float value : logits) {
    const double x = value - largest_;
    const double weight = std::exp(x);
    sum += weight;
    weighted += weight == 0 ? 0 : weight * x;
  }
  log_sum_ = std::log(sum);
  entropy_ = log_sum_ - weighted / sum;
}

double TokenDistribution::logit(std::int32_t token) const {
  require(token >= 0 && static_cast<std::size_t>(token) < logits_.size(),
          "[TokenDistribution] expected an id from 0 to ", logits_.size() - 1, ", got ", token);
  return logits_[static_cast<std::size_t>(token)];
}

double TokenDistribution::log_probability(std::int32_t token) const {
  return logit(token) - largest_ - log_sum_;
}

Index TokenDistribution::rank(std::int32_t token) const {
  const double own = logit(token);
  const auto before = logits_.begin() + token;
  return 1 + std::count_if(logits_.begin(), before, [&](float x) { return x >= own; }) +
         std::count_if(before, logits_.end(), [&](float x) { return x > own; });
}

std::vector<double> TokenDistribution::probabilities() const {
  std::vector<double> result;
  result.reserve(logits_.size());
  for (const float value : logits_) {
    result.push_back(std::exp(value - largest_ - log_sum_));
  }
  return result;
}

double TokenDistribution::cross_entropy(std::span<const double> probabilities) const {
  require(probabilities.size() == logits_.size(), "[TokenDistribution] expected ", logits_.size(),
          " probabilities, got ", probabilities.size());
  double sum = 0;
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    const double cost = largest_ - logits_[i] + log_sum_;
    sum += probabilities[i] == 0 ? 0 : probabilities[i] * cost;
  }
  return sum;
}

std::vector<TokenLogProbability> TokenDistribution::likeliest(Index count) const {
  std::vector<std::int32_t> ids(logits_.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto last = ids.begin() + std::clamp<Index>(count, 0, std::ssize(ids));
  std::partial_sort(ids.begin(), last, ids.end(), [&](std::int32_t a, std::int32_t b) {
    const float one = logits_[static_cast<std::size_t>(a)];
    const float other = logits_[static_cast<std::size_t>(b)];
    return one != other ? one > other : a < b;
  });
  std::vector<TokenLogProbability> result;
  for (auto id = ids.begin(); id != last; ++id) {
    result.push_back({*id, log_probability(*id)});
  }
  return result;
}

}  // namespace headlight
