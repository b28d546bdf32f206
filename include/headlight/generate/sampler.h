#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "headlight/base/error.h"
#include "headlight/base/shared_list.h"
#include "headlight/tensor/random.h"

namespace headlight {

// A number added to the logit of a token.
struct TokenBias {
  std::int32_t token = 0;
  double bias = 0;
};

// Options for choosing the next token. They apply in the order of the fields, as in Hugging Face's
// generate(): penalties, temperature, top_k, top_p, min_p, then one draw.
struct SamplingOptions {
  // Divides positive and multiplies negative logits of tokens that have occurred: above 1
  // discourages repetition, 1 is off. Keskar et al., arXiv 1909.05858.
  double repetition_penalty = 1.0;
  Index repetition_window = 0;  // number of latest tokens that it considers; 0: all
  // Subtracted from the logits of tokens chosen before: presence_penalty once, frequency_penalty
  // once for every occurrence. Prompt tokens do not count, as in OpenAI's API.
  double presence_penalty = 0;
  double frequency_penalty = 0;
  SharedList<TokenBias> logit_bias = {};
  double temperature = 1.0;  // divides the logits; 0: always choose the most likely token
  Index top_k = 0;           // keep only the most likely top_k tokens; 0: all
  // Keep the most likely tokens until their probabilities sum to top_p, at least one; 1: all.
  // Holtzman et al., arXiv 1904.09751.
  double top_p = 1.0;
  double min_p = 0.0;         // drop tokens below this share of the highest probability
  std::uint64_t seed = 1337;  // for the random draws

  // Throws Error naming the first field that is out of range.
  void validate() const;
};

struct TokenProbability {
  std::int32_t id = 0;
  double probability = 0;
};

// Returns the id at `uniform`, in [0, 1), of the cumulative distribution in the given order. Throws
// Error when there are no tokens.
std::int32_t choose_token(std::span<const TokenProbability> distribution, double uniform);

// A token that may be chosen. `weight` is its unnormalised probability.
struct TokenCandidate {
  std::int32_t id = 0;
  double score = 0;
  double weight = 0;
};

// Numbers of a model that are not finite. Not a fault of the request.
class ModelFault : public Error {
 public:
  using Error::Error;
};

// Throws Error for a logit that is NaN or plus infinity; `cause` ends the message.
void require_finite_logits(std::span<const float> logits, std::string_view cause);

// Chooses tokens. Draw n of sample s is a pure function of (seed, s, n), so that samples are
// independent.
class Sampler {
 public:
  // Never chooses `excluded` ids. Throws Error when an option is out of range.
  explicit Sampler(const SamplingOptions& options, Index sample = 0,
                   std::vector<std::int32_t> excluded = {});

  // Returns the tokens that may come next, by ascending id; their probabilities sum to 1. Takes
  // logits [V]; minus infinity excludes a token. Among equal logits the lower id ranks higher.
  // `history` is the prompt and output so far. Throws Error for a logit that is NaN or plus
  // infinity, when no token is possible, and for ids in the history outside 0 ... V - 1.
  std::vector<TokenProbability> distribution(const Tensor& logits,
                                             std::span<const std::int32_t> history);

  // Returns a sampler that makes the same next draws.
  Sampler fork() const;

  // Draws the next token. `allowed`, unless empty, has 1 for each token that may be chosen; it may
  // be shorter than the logits. Throws the errors of distribution(). Allocates nothing after the
  // first call.
  std::int32_t next(std::span<const float> logits, std::span<const std::int32_t> history,
                    std::span<const char> allowed = {});

 private:
  // Computes distribution_ from scores_.
  void compute(std::span<const std::int32_t> history, std::span<const char> allowed = {});
  std::int32_t plain_choice(std::span<const float> logits, std::span<const char> allowed) const;
  void adjust_scores(std::span<const std::int32_t> history);
  void choose_candidates();

  SamplingOptions options_;
  RandomStream random_;
  std::vector<std::int32_t> excluded_;
  std::uint64_t draws_ = 0;
  std::map<std::int32_t, Index> chosen_;  // counts of chosen tokens, for the penalties
  // Memory reused by every draw.
  std::vector<double> scores_;              // [V]
  std::vector<double> weights_;             // [V]
  std::vector<char> penalized_;             // [V]
  std::vector<TokenCandidate> candidates_;  // by ascending id
  std::vector<TokenCandidate> order_;       // for finding the least likely token to keep
  std::vector<TokenProbability> distribution_;
};

}  // namespace headlight
