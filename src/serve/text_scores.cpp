#include "serve/text_scores.h"

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/nn/key_value_cache.h"
#include "headlight/nn/token_distribution.h"
#include "headlight/ops/layout.h"

namespace headlight::serve {
namespace {

constexpr Index kTogether = 32;  // positions per part

// Adds the model's prediction after position `last` of the text.
void add_prediction(const TokenDistribution& expected, const std::vector<std::int32_t>& text,
                    Index last, const TextScoreOptions& options, TextScores& scores) {
  std::vector<TokenLogProbability> likeliest = expected.likeliest(options.likeliest);
  const auto next = static_cast<std::size_t>(last + 1);
  if (next < text.size()) {
    const double log_probability = expected.log_probability(text[next]);
    scores.tokens.push_back(
        {text[next], log_probability, expected.rank(text[next]), std::move(likeliest)});
    scores.loss -= log_probability;
    return;
  }
  scores.next = std::move(likeliest);
  for (const std::int32_t token : options.requested) {
    scores.requested.push_back(expected.log_probability(token));
  }
}

}  // namespace

std::shared_ptr<TextRun> TextRuns::of(const std::vector<std::int32_t>& text,
                                      const std::string& changes) {
  constexpr std::size_t kKeptTokens = 4096;  // of all texts
  const auto found = std::ranges::find_if(
      runs_, [&](const auto& run) { return run->text == text && run->changes == changes; });
  auto run = found == runs_.end() ? std::make_shared<TextRun>(TextRun{text, changes}) : *found;
  std::erase(runs_, run);
  runs_.push_front(run);
  std::size_t tokens = 0;
  const auto last = std::ranges::find_if(
      runs_, [&](const auto& kept) { return (tokens += kept->text.size()) > kKeptTokens; });
  runs_.erase(last, runs_.end());
  return run;
}

Tensor read_part(const Gpt& model, const std::vector<std::int32_t>& text, Index begin, Index end,
                 ForwardHook* hook, KeyValueCache& cache) {
  KeyValueCache* const caches[] = {&cache};
  const Batch batch = continue_sequences({{text.begin() + begin, text.begin() + end}}, {begin});
  return to_contiguous(model.hidden(batch, {.hook = hook, .caches = caches}));
}

TextScores score_text(const Gpt& model, const std::vector<std::int32_t>& text,
                      const TextScoreOptions& options) {
  const NoGrad no_grad;
  const Index length = std::ssize(text);
  const auto vocabulary = static_cast<std::size_t>(model.vocab_size());
  KeyValueCache cache = model.make_cache();
  TextScores scores{.tokens = {{.token = text.front()}}, .next = {}, .requested = {}};
  for (Index begin = 0; begin < length; begin += kTogether) {
    const Index end = std::min(begin + kTogether, length);
    const Tensor part = options.hidden.defined()
                            ? to_contiguous(slice(options.hidden, 0, begin, end))
                            : read_part(model, text, begin, end, options.hook, cache);
    const Tensor logits = to_contiguous(model.logits_of(part));
    for (Index i = begin; i < end; ++i) {
      const float* row = logits.data<float>() + (i - begin) * model.vocab_size();
      add_prediction(TokenDistribution({row, vocabulary}), text, i, options, scores);
    }
    options.pause();
  }
  scores.loss /= static_cast<double>(std::max<Index>(length - 1, 1));
  return scores;
}

}  // namespace headlight::serve
