#include "serve/text_scores.h"

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/nn/key_value_cache.h"
#include "headlight/nn/token_distribution.h"
#include "headlight/ops/layout.h"

namespace headlight::serve {
namespace {

constexpr Index kTogether = 32;  // positions per part

// Final vectors [n, C] of the positions from `begin` on, and the whole text.
struct Part {
  Index begin;
  Tensor hidden;
  const std::vector<std::int32_t>& text;
};

void score_part(const Gpt& model, const Part& part, const TextScoreOptions& options,
                TextScores& scores) {
  const auto vocabulary = static_cast<std::size_t>(model.vocab_size());
  const Tensor logits = to_contiguous(model.logits_of(part.hidden));
  for (Index i = 0; i < part.hidden.size(0); ++i) {
    const auto next = static_cast<std::size_t>(part.begin + i + 1);
    const TokenDistribution expected({logits.data<float>() + i * model.vocab_size(), vocabulary});
    if (next == part.text.size()) {
      scores.next = expected.likeliest(options.likeliest);
      for (const std::int32_t token : options.asked) {
        scores.asked.push_back(expected.log_probability(token));
      }
      return;
    }
    const std::int32_t token = part.text[next];
    scores.tokens.push_back({.token = token,
                             .log_probability = expected.log_probability(token),
                             .rank = expected.rank(token),
                             .likeliest = expected.likeliest(options.likeliest)});
    scores.loss -= scores.tokens.back().log_probability;
  }
}

// Returns the vectors of positions [begin, end). The cache holds the positions before.
Tensor read_part(const Gpt& model, const std::vector<std::int32_t>& text, Index begin, Index end,
                 ForwardHook* hook, KeyValueCache& cache) {
  KeyValueCache* const caches[] = {&cache};
  const Batch batch = continue_sequences({{text.begin() + begin, text.begin() + end}}, {begin});
  return to_contiguous(model.hidden(batch, {.hook = hook, .caches = caches}));
}

}  // namespace

TextScores score_text(const Gpt& model, const std::vector<std::int32_t>& text,
                      const TextScoreOptions& options) {
  const NoGrad no_grad;
  const Index length = std::ssize(text);
  const Tensor hidden =  // [T, C]
      options.whole ? model.hidden(make_batch({text}), {.hook = options.hook}) : Tensor();
  KeyValueCache cache = model.make_cache();
  TextScores scores{.tokens = {{.token = text.front()}}, .next = {}, .asked = {}};
  for (Index begin = 0; begin < length; begin += kTogether) {
    const Index end = std::min(begin + kTogether, length);
    const Tensor part = options.whole ? to_contiguous(slice(hidden, 0, begin, end))
                                      : read_part(model, text, begin, end, options.hook, cache);
    score_part(model, {begin, part, text}, options, scores);
    options.pause();
  }
  scores.loss /= static_cast<double>(std::max<Index>(length - 1, 1));
  return scores;
}

}  // namespace headlight::serve
