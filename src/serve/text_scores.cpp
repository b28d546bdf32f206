#include "serve/text_scores.h"

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/nn/token_distribution.h"
#include "headlight/ops/layout.h"

namespace headlight::serve {

TextScores score_text(const Gpt& model, const std::vector<std::int32_t>& text, Index likeliest) {
  constexpr Index kTogether = 32;  // positions
  const NoGrad no_grad;
  const Tensor hidden = model.hidden(make_batch({text}));  // [T, C]
  TextScores scores{.tokens = {{.token = text.front()}}, .next = {}};
  const auto vocabulary = static_cast<std::size_t>(model.vocab_size());
  const Index length = std::ssize(text);
  for (Index begin = 0; begin < length; begin += kTogether) {
    const Index end = std::min(begin + kTogether, length);
    const Tensor logits =
        to_contiguous(model.logits_of(to_contiguous(slice(hidden, 0, begin, end))));
    for (Index t = begin; t < end; ++t) {
      const TokenDistribution expected(
          {logits.data<float>() + (t - begin) * model.vocab_size(), vocabulary});
      if (t + 1 == length) {
        scores.next = expected.likeliest(likeliest);
        break;
      }
      const std::int32_t token = text[static_cast<std::size_t>(t + 1)];
      scores.tokens.push_back({.token = token,
                               .log_probability = expected.log_probability(token),
                               .rank = expected.rank(token),
                               .likeliest = expected.likeliest(likeliest)});
      scores.loss -= scores.tokens.back().log_probability;
    }
  }
  scores.loss /= static_cast<double>(std::max<Index>(length - 1, 1));
  return scores;
}

}  // namespace headlight::serve
