#include "headlight/interpret/scores/repeat_loss.h"

#include "headlight/autograd/autograd.h"
#include "interpret/effects/token_losses.h"
#include "interpret/scores/repeated_tokens.h"

namespace headlight {

std::vector<RepeatLoss> repeat_losses(const Gpt& model, const RepeatOptions& repeats) {
  const GptConfig& config = model.config();
  const Index length = repeat_length(repeats, config.block_size);
  require(repeats.sequences >= 1 && length >= 2,
          "[repeat_loss] expected sequences from 1 and copies of 2 tokens or more, got ",
          repeats.sequences, " and ", length);
  const NoGrad no_grad;
  std::vector<RepeatLoss> results;
  for (Index number = 0; number < repeats.sequences; ++number) {
    const RepeatedTokens sequence = repeated_tokens(repeats, config.vocab_size, length, number);
    const Batch batch = make_batch({sequence.tokens});
    const std::vector<double> losses = token_losses(model, model.hidden(batch), batch.targets);
    // Row i holds the loss of token i + 1.
    RepeatLoss mean;
    for (Index i = 0; i + 1 < length; ++i) {
      const Index second = sequence.repeat_begin + i;
      mean.first += losses[static_cast<std::size_t>(second - length)];
      mean.second += losses[static_cast<std::size_t>(second)];
    }
    const auto targets = static_cast<double>(length - 1);
    results.push_back({mean.first / targets, mean.second / targets});
  }
  return results;
}

RepeatLoss repeat_loss(const Gpt& model, const RepeatOptions& repeats) {
  const std::vector<RepeatLoss> each = repeat_losses(model, repeats);
  RepeatLoss sum;
  for (const RepeatLoss& loss : each) {
    sum.first += loss.first;
    sum.second += loss.second;
  }
  const auto count = static_cast<double>(each.size());
  return {sum.first / count, sum.second / count};
}

}  // namespace headlight
