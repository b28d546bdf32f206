#include "headlight/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/panels/panels.h"

namespace headlight {
namespace {

constexpr std::uint64_t kSamplingStream = 0x73616D706C65;  // "sample"
constexpr double kImpossible = -std::numeric_limits<double>::infinity();

using Candidates = std::vector<TokenCandidate>;

// Compares scores, because different scores may round to the same weight.
bool likelier(const TokenCandidate& a, const TokenCandidate& b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
}

// The comparison is false for NaN.
bool is_score(double score) { return score < std::numeric_limits<double>::infinity(); }

// Throws Fault, a class of Error, for a score that is NaN or plus infinity.
template <class Fault, class T>
void check_scores(std::span<const T> scores, std::string_view cause) {
  require(!scores.empty(), "[Sampler] expected logits [V]");
  const auto bad = std::find_if_not(scores.begin(), scores.end(), is_score);
  if (bad != scores.end()) {
    throw Fault(concat_text("[Sampler] the logits are not finite: the logit of token ",
                            bad - scores.begin(), " is ", std::isnan(*bad) ? "NaN" : "infinite",
                            ": ", cause));
  }
}

// Keeps a finite score finite at any penalty, because minus infinity marks impossible tokens.
double penalized_score(double score, double penalty) {
  if (score == kImpossible) {
    return score;
  }
  constexpr double kLargest = std::numeric_limits<double>::max();
  return std::clamp(score > 0 ? score / penalty : score * penalty, -kLargest, kLargest);
}

std::span<const std::int32_t> latest(std::span<const std::int32_t> history, Index window) {
  const auto count = static_cast<std::size_t>(window);
  return window > 0 && history.size() > count ? history.last(count) : history;
}

// Returns the most likely token; among equal ones the first.
std::int32_t likeliest(const std::vector<double>& scores) {
  return static_cast<std::int32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

// Computes weights by softmax. Subtracts the largest score before dividing by the temperature, so
// that the largest weight is 1 at any temperature.
void weigh(double temperature, const std::vector<double>& scores, std::vector<double>& weights) {
  weights.resize(scores.size());
  const double largest = scores[static_cast<std::size_t>(likeliest(scores))];
  kernels::decode_loops().softmax_weights(scores.data(), largest, temperature, weights.data(),
                                          static_cast<Index>(scores.size()));
}

// Collects the possible tokens with a weight of at least `least`.
void gather(const std::vector<double>& scores, const std::vector<double>& weights, double least,
            Candidates& candidates) {
  candidates.clear();
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (scores[id] > kImpossible && weights[id] >= least) {
      candidates.push_back({static_cast<std::int32_t>(id), scores[id], weights[id]});
    }
  }
}

double total_weight(std::span<const TokenCandidate> candidates) {
  double total = 0;
  for (const TokenCandidate& candidate : candidates) {
    total += candidate.weight;
  }
  return total;
}

void keep_allowed(std::span<const char> allowed, std::vector<double>& scores) {
  for (std::size_t id = 0; !allowed.empty() && id < scores.size(); ++id) {
    scores[id] = id < allowed.size() && allowed[id] != 0 ? scores[id] : kImpossible;
  }
}

// Keeps the lower ids among equal scores. `order` is reused memory.
void keep_top_k(Index top_k, std::vector<double>& scores, std::vector<double>& order) {
  if (top_k == 0 || top_k >= static_cast<Index>(scores.size())) {
    return;
  }
  order = scores;
  std::nth_element(order.begin(), order.begin() + top_k - 1, order.end(), std::greater<>());
  const double last = order[static_cast<std::size_t>(top_k - 1)];
  Index equal = top_k - std::count_if(scores.begin(), scores.end(),
                                      [&](double score) { return score > last; });
  for (double& score : scores) {
    const bool stays = score > last || (score == last && equal-- > 0);
    score = stays ? score : kImpossible;
  }
}

// Finds the last candidate needed to reach the sum by halving the range with nth_element. This
// takes linear time; sorting would take longer than the model.
void keep_top_p(double wanted, Candidates& candidates, Candidates& order) {
  order = candidates;
  auto begin = order.begin();
  auto end = order.end();
  double before = 0;  // sum of the candidates before begin
  while (end - begin > 1) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end, likelier);
    const double sum = before + total_weight({&*begin, static_cast<std::size_t>(middle - begin)});
    if (sum >= wanted) {
      end = middle;
    } else {
      before = sum;
      begin = middle;
    }
  }
  const TokenCandidate last = *begin;
  std::erase_if(candidates, [&](const TokenCandidate& c) { return likelier(last, c); });
}

}  // namespace

void require_finite_logits(std::span<const float> logits, std::string_view cause) {
  check_scores<Error>(logits, cause);
}

std::int32_t choose_token(std::span<const TokenProbability> distribution, double uniform) {
  require(!distribution.empty(), "[choose_token] expected at least one token, got none");
  double sum = 0;
  for (const TokenProbability& token : distribution) {
    sum += token.probability;
    if (uniform < sum) {
      return token.id;
    }
  }
  // Rounding may leave the sum below 1; then return the last token with a probability above 0.
  const auto last =
      std::find_if(distribution.rbegin(), distribution.rend(),
                   [](const TokenProbability& token) { return token.probability > 0; });
  return last == distribution.rend() ? distribution.back().id : last->id;
}

Sampler::Sampler(const SamplingOptions& options, Index sample, std::vector<std::int32_t> excluded)
    : options_(options), excluded_(std::move(excluded)) {
  options.validate();
  require_value(sample >= 0, "sample", "expected a number from 0, got ", sample);
  random_ = RandomStream{options.seed, kSamplingStream}.fork(static_cast<std::uint64_t>(sample));
}

Sampler Sampler::fork() const {
  Sampler other(options_, 0, excluded_);
  other.random_ = random_;
  other.draws_ = draws_;
  other.chosen_ = chosen_;
  return other;
}

void Sampler::adjust_scores(std::span<const std::int32_t> history) {
  if (options_.repetition_penalty != 1) {
    penalized_.assign(scores_.size(), 0);
    for (const std::int32_t id : latest(history, options_.repetition_window)) {
      require(id >= 0 && static_cast<std::size_t>(id) < scores_.size(),
              "[Sampler] expected ids below ", scores_.size(), " in the history, got ", id);
      const auto index = static_cast<std::size_t>(id);
      if (penalized_[index] == 0) {
        penalized_[index] = 1;
        scores_[index] = penalized_score(scores_[index], options_.repetition_penalty);
      }
    }
  }
  const auto add = [&](std::int32_t id, double change) {
    const auto index = static_cast<std::size_t>(id);
    require(id >= 0 && index < scores_.size(), "[Sampler] expected ids below ", scores_.size(),
            " of logit_bias, got ", id);
    if (scores_[index] != kImpossible) {
      scores_[index] += change;
    }
  };
  for (const auto& [id, count] : chosen_) {
    add(id, -options_.presence_penalty - options_.frequency_penalty * static_cast<double>(count));
  }
  for (const TokenBias& bias : options_.logit_bias) {
    add(bias.token, bias.bias);
  }
  for (const std::int32_t id : excluded_) {
    if (id >= 0 && static_cast<std::size_t>(id) < scores_.size()) {
      scores_[static_cast<std::size_t>(id)] = kImpossible;
    }
  }
}

void Sampler::choose_candidates() {
  keep_top_k(options_.top_k, scores_, weights_);
  weigh(options_.temperature, scores_, weights_);
  if (options_.top_p < 1) {
    // Tokens below this share cannot be needed to reach top_p, not even all together.
    const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    const double share = (1 - options_.top_p) / 2 / static_cast<double>(scores_.size());
    gather(scores_, weights_, share * sum, candidates_);
    keep_top_p(options_.top_p * sum, candidates_, order_);
  } else {
    gather(scores_, weights_, 0, candidates_);
  }
  // min_p always keeps the most likely candidate: its weight is 1.
  std::erase_if(candidates_, [&](const TokenCandidate& c) { return c.weight < options_.min_p; });
}

void Sampler::compute(std::span<const std::int32_t> history, std::span<const char> allowed) {
  check_scores<ModelFault, double>(
      scores_,
      "the model's weights may be damaged, or its keys and values are above the "
      "65,504 of float16 (then use --cache_type float32)");
  adjust_scores(history);
  keep_allowed(allowed, scores_);
  distribution_.clear();
  const std::int32_t best = likeliest(scores_);
  require(scores_[static_cast<std::size_t>(best)] > kImpossible, "[Sampler] none of the ",
          scores_.size(), " tokens is possible");
  if (options_.temperature == 0) {
    distribution_.push_back({best, 1.0});
    return;
  }
  choose_candidates();
  const double sum = total_weight(candidates_);
  for (const TokenCandidate& candidate : candidates_) {
    distribution_.push_back({candidate.id, candidate.weight / sum});
  }
}

std::vector<TokenProbability> Sampler::distribution(const Tensor& logits,
                                                    std::span<const std::int32_t> history) {
  require(logits.defined() && logits.rank() == 1, "[Sampler] expected logits [V]");
  scores_ = logits.to_vector();
  compute(history);
  return distribution_;
}

// Returns the most likely token if no option changes the order of the logits, else -1: compute()
// then finds the token or the error.
std::int32_t Sampler::plain_choice(std::span<const float> logits,
                                   std::span<const char> allowed) const {
  const SamplingOptions& options = options_;
  if (options.temperature != 0 || options.repetition_penalty != 1 ||
      options.presence_penalty != 0 || options.frequency_penalty != 0 ||
      !options.logit_bias.empty() || !allowed.empty()) {
    return -1;
  }
  const auto id = static_cast<std::int32_t>(
      kernels::decode_loops().likeliest(logits.data(), std::ssize(logits)));
  return std::ranges::find(excluded_, id) == excluded_.end() ? id : -1;
}

std::int32_t Sampler::next(std::span<const float> logits, std::span<const std::int32_t> history,
                           std::span<const char> allowed) {
  if (const std::int32_t id = plain_choice(logits, allowed); id >= 0) {
    ++draws_;
    return id;
  }
  scores_.assign(logits.begin(), logits.end());
  compute(history, allowed);
  const std::int32_t id = choose_token(distribution_, random_.uniform(draws_++));
  if (options_.presence_penalty != 0 || options_.frequency_penalty != 0) {
    ++chosen_[id];
  }
  return id;
}

}  // namespace headlight
