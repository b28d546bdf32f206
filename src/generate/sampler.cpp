#include "headlight/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headlight {
namespace {

constexpr std::uint64_t kSamplingStream = 0x73616D706C65;  // "sample"
constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// A token that may be chosen; `weight` is its probability up to a common factor.
struct Candidate {
  std::int32_t id;
  double score;
  double weight;
};

// By scores, because different scores may round to one weight.
bool likelier(const Candidate& a, const Candidate& b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
}

std::vector<double> read_scores(const Tensor& logits) {
  require(logits.defined() && logits.rank() == 1 && logits.numel() > 0,
          "[Sampler] expected logits [V]");
  std::vector<double> scores = logits.to_vector();
  for (std::size_t id = 0; id < scores.size(); ++id) {
    // Written so that NaN fails.
    require(scores[id] < std::numeric_limits<double>::infinity(), "[Sampler] the logit of token ",
            id, " is ", std::isnan(scores[id]) ? "NaN" : "infinite",
            ", expected a number: the model's weights may be damaged");
  }
  return scores;
}

// A finite score stays finite, however extreme the penalty: only the model says what is impossible.
double penalized_score(double score, double penalty) {
  if (score == kImpossible) {
    return score;
  }
  constexpr double kLargest = std::numeric_limits<double>::max();
  return std::clamp(score > 0 ? score / penalty : score * penalty, -kLargest, kLargest);
}

void penalize_repetition(const SamplingOptions& options, std::span<const std::int32_t> history,
                         std::vector<double>& scores) {
  const auto window = static_cast<std::size_t>(options.repetition_window);
  if (window > 0 && history.size() > window) {
    history = history.last(window);
  }
  std::vector<bool> penalized(scores.size());
  for (const std::int32_t id : history) {
    require(id >= 0 && static_cast<std::size_t>(id) < scores.size(),
            "[Sampler] expected ids below ", scores.size(), " in the history, got ", id);
    const auto place = static_cast<std::size_t>(id);
    if (!penalized[place]) {
      penalized[place] = true;
      scores[place] = penalized_score(scores[place], options.repetition_penalty);
    }
  }
}

std::vector<Candidate> candidates_of(const std::vector<double>& scores) {
  std::vector<Candidate> candidates;
  candidates.reserve(scores.size());
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (scores[id] > kImpossible) {
      candidates.push_back({static_cast<std::int32_t>(id), scores[id], 0});
    }
  }
  require(!candidates.empty(), "[Sampler] none of the ", scores.size(), " tokens is possible");
  return candidates;
}

// Weights by softmax. The largest score is subtracted before the division, so that the largest
// weight is 1 at any temperature.
void weigh(double temperature, std::vector<Candidate>& candidates) {
  // min_element, because likelier() orders the likeliest first.
  const double largest = std::min_element(candidates.begin(), candidates.end(), likelier)->score;
  for (Candidate& candidate : candidates) {
    candidate.weight = std::exp((candidate.score - largest) / temperature);
  }
}

void keep_top_k(Index top_k, std::vector<Candidate>& candidates) {
  if (top_k == 0 || top_k >= static_cast<Index>(candidates.size())) {
    return;
  }
  std::nth_element(candidates.begin(), candidates.begin() + top_k - 1, candidates.end(), likelier);
  candidates.resize(static_cast<std::size_t>(top_k));
}

double total_weight(const std::vector<Candidate>& candidates) {
  double total = 0;
  for (const Candidate& candidate : candidates) {
    total += candidate.weight;
  }
  return total;
}

void keep_top_p(double top_p, std::vector<Candidate>& candidates) {
  if (top_p >= 1) {
    return;
  }
  std::sort(candidates.begin(), candidates.end(), likelier);
  const double wanted = top_p * total_weight(candidates);
  std::size_t kept = 0;
  double sum = 0;
  do {
    sum += candidates[kept++].weight;
  } while (kept < candidates.size() && sum < wanted);
  candidates.resize(kept);
}

// The likeliest candidate always stays: it has the weight 1.
void keep_min_p(double min_p, std::vector<Candidate>& candidates) {
  std::erase_if(candidates, [&](const Candidate& candidate) { return candidate.weight < min_p; });
}

}  // namespace

void SamplingOptions::validate() const {
  require(std::isfinite(repetition_penalty) && repetition_penalty > 0,
          "repetition_penalty: expected a number above 0, got ", repetition_penalty);
  require(repetition_window >= 0, "repetition_window: expected a number from 0, got ",
          repetition_window);
  require(std::isfinite(temperature) && temperature >= 0,
          "temperature: expected a number from 0, got ", temperature);
  require(top_k >= 0, "top_k: expected a number from 0, got ", top_k);
  require(top_p >= 0 && top_p <= 1, "top_p: expected 0 to 1, got ", top_p);
  require(min_p >= 0 && min_p <= 1, "min_p: expected 0 to 1, got ", min_p);
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
  // Rounding may leave the sum a little below 1; a token without probability must not come then.
  const auto last =
      std::find_if(distribution.rbegin(), distribution.rend(),
                   [](const TokenProbability& token) { return token.probability > 0; });
  return last == distribution.rend() ? distribution.back().id : last->id;
}

Sampler::Sampler(const SamplingOptions& options, Index sample, std::vector<std::int32_t> excluded)
    : options_(options), excluded_(std::move(excluded)) {
  options.validate();
  require(sample >= 0, "sample: expected a number from 0, got ", sample);
  random_ = RandomStream{options.seed, kSamplingStream}.fork(static_cast<std::uint64_t>(sample));
}

std::vector<TokenProbability> Sampler::distribution(const Tensor& logits,
                                                    std::span<const std::int32_t> history) const {
  std::vector<double> scores = read_scores(logits);
  if (options_.repetition_penalty != 1) {
    penalize_repetition(options_, history, scores);
  }
  for (const std::int32_t id : excluded_) {
    if (id >= 0 && static_cast<std::size_t>(id) < scores.size()) {
      scores[static_cast<std::size_t>(id)] = kImpossible;
    }
  }
  std::vector<Candidate> candidates = candidates_of(scores);
  if (options_.temperature == 0) {
    return {{std::min_element(candidates.begin(), candidates.end(), likelier)->id, 1.0}};
  }
  weigh(options_.temperature, candidates);
  keep_top_k(options_.top_k, candidates);
  keep_top_p(options_.top_p, candidates);
  keep_min_p(options_.min_p, candidates);
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  const double total = total_weight(candidates);
  std::vector<TokenProbability> result;
  result.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    result.push_back({candidate.id, candidate.weight / total});
  }
  return result;
}

std::int32_t Sampler::next(const Tensor& logits, std::span<const std::int32_t> history) {
  return choose_token(distribution(logits, history), random_.uniform(draws_++));
}

}  // namespace headlight
