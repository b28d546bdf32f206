#include "serve/text_scores.h"

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/nn/key_value_cache.h"
#include "headlight/nn/token_distribution.h"
#include "headlight/ops/layout.h"

namespace headlight::serve {
namespace {

constexpr Index kTogether = 32;  // positions

// The positions of a text from `begin` on with their vectors [n, C], and where the text ends.
struct Part {
  Index begin;
  Tensor hidden;
  const std::vector<std::int32_t>& text;
};

void score_part(const Gpt& model, const Part& part, Index likeliest, TextScores& scores) {
  const auto vocabulary = static_cast<std::size_t>(model.vocab_size());
  const Tensor logits = to_contiguous(model.logits_of(part.hidden));
  for (Index i = 0; i < part.hidden.size(0); ++i) {
    const auto next = static_cast<std::size_t>(part.begin + i + 1);
    const TokenDistribution expected({logits.data<float>() + i * model.vocab_size(), vocabulary});
    if (next == part.text.size()) {
      scores.next = expected.likeliest(likeliest);
      return;
    }
    const std::int32_t token = part.text[next];
    scores.tokens.push_back({.token = token,
                             .log_probability = expected.log_probability(token),
                             .rank = expected.rank(token),
                             .likeliest = expected.likeliest(likeliest)});
    scores.loss -= scores.tokens.back().log_probability;
  }
}

// The vectors of positions [begin, end) behind those that the cache holds.
Tensor read_part(const Gpt& model, const std::vector<std::int32_t>& text, Index begin, Index end,
                 KeyValueCache& cache) {
  KeyValueCache* const caches[] = {&cache};
  const Batch batch = continue_sequences({{text.begin() + begin, text.begin() + end}}, {begin});
  return to_contiguous(model.hidden(batch, {.caches = caches}));
}

}  // namespace

TextScores score_text(const Gpt& model, const std::vector<std::int32_t>& text, Index likeliest,
                      const std::function<void()>& pause) {
  const NoGrad no_grad;
  const Index length = std::ssize(text);
  const Tensor hidden = pause ? Tensor() : model.hidden(make_batch({text}));  // [T, C]
  KeyValueCache cache = model.make_cache();
  TextScores scores{.tokens = {{.token = text.front()}}, .next = {}};
  for (Index begin = 0; begin < length; begin += kTogether) {
    const Index end = std::min(begin + kTogether, length);
    const Tensor part = pause ? read_part(model, text, begin, end, cache)
                              : to_contiguous(slice(hidden, 0, begin, end));
    score_part(model, {begin, part, text}, likeliest, scores);
    if (pause) {
      pause();
    }
  }
  scores.loss /= static_cast<double>(std::max<Index>(length - 1, 1));
  return scores;
}

}  // namespace headlight::serve
