#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "headlight/tensor/random.h"

namespace headlight {

// A number that is added to the logit of a token.
struct TokenBias {
  std::int32_t token = 0;
  double bias = 0;
};

// How the next token is chosen. The steps run in the order of the fields, which is that of Hugging
// Face's generate(): penalties, temperature, top_k, top_p, min_p, then one draw from what is left.
struct SamplingOptions {
  // Logits of tokens that have occurred are divided by it when positive, multiplied when negative:
  // above 1 discourages repetition, 1 is off. Keskar et al., arXiv 1909.05858.
  double repetition_penalty = 1.0;
  Index repetition_window = 0;  // latest tokens of prompt and output that count; 0: all
  // Subtracted from the logits of tokens that the sampler has chosen before: once, and so many
  // times as they were chosen. As in OpenAI's API the prompt does not count.
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::vector<TokenBias> logit_bias = {};
  double temperature = 1.0;  // logits are divided by it; 0: always the likeliest token
  Index top_k = 0;           // keep so many of the likeliest tokens; 0: all
  // Keep the likeliest tokens until their probabilities sum to it, one at least; 1: all.
  // Holtzman et al., arXiv 1904.09751.
  double top_p = 1.0;
  double min_p = 0.0;         // drop tokens below this share of the likeliest one's probability
  std::uint64_t seed = 1337;  // of the draws

  // Throws Error naming the first field that is out of range.
  void validate() const;
};

struct TokenProbability {
  std::int32_t id = 0;
  double probability = 0;
};

// The id on which a number in [0, 1) falls when the probabilities are laid end to end in the order
// given. Throws Error when there are none.
std::int32_t choose_token(std::span<const TokenProbability> distribution, double uniform);

// A token that may be chosen; `weight` is its probability up to a common factor.
struct TokenCandidate {
  std::int32_t id = 0;
  double score = 0;
  double weight = 0;
};

// Throws Error, with `cause` behind it, for a logit that is NaN or plus infinity.
void require_finite_logits(std::span<const float> logits, std::string_view cause);

// Chooses tokens. Draw n of sample s is a pure function of (seed, s, n): samples do not depend on
// one another.
class Sampler {
 public:
  // `excluded` ids are never chosen. Throws Error when an option is out of range.
  explicit Sampler(const SamplingOptions& options, Index sample = 0,
                   std::vector<std::int32_t> excluded = {});

  // The tokens that may come next, by ascending id; their probabilities sum to 1. logits [V]; a
  // token whose logit is minus infinity is impossible. Among tokens of equal logits the lower id
  // counts as likelier. `history` is prompt and output so far. Throws Error for a logit that is NaN
  // or plus infinity, when no token is possible, and for an id of the history outside 0 ... V - 1.
  std::vector<TokenProbability> distribution(const Tensor& logits,
                                             std::span<const std::int32_t> history) const;

  // Draws the next token. Throws what distribution() throws.
  std::int32_t next(const Tensor& logits, std::span<const std::int32_t> history);
  // The same for logits [V] in memory; allocates nothing once it has run.
  std::int32_t next(std::span<const float> logits, std::span<const std::int32_t> history);

 private:
  // Memory of one draw, kept for the next.
  struct Scratch {
    std::vector<double> scores;              // [V]
    std::vector<double> weights;             // [V]
    std::vector<char> penalized;             // [V]
    std::vector<TokenCandidate> candidates;  // by ascending id
    std::vector<TokenCandidate> order;       // to find the least likely one that stays
    std::vector<TokenProbability> distribution;
  };

  // From scratch.scores to scratch.distribution.
  void compute(std::span<const std::int32_t> history, Scratch& scratch) const;
  void adjust_scores(std::span<const std::int32_t> history, Scratch& scratch) const;
  std::int32_t drawn(const std::vector<TokenProbability>& distribution);
  void choose_candidates(Scratch& scratch) const;

  SamplingOptions options_;
  RandomStream random_;
  std::vector<std::int32_t> excluded_;
  std::uint64_t draws_ = 0;
  std::map<std::int32_t, Index> chosen_;  // how often; kept where a penalty asks
  Scratch scratch_;
};

}  // namespace headlight
