#include "interpret/scores/repeated_tokens.h"

#include <algorithm>

#include "headlight/tensor/random.h"

namespace headlight {

RepeatOptions repeats_of_text(const Tokenizer& tokenizer, Index vocab_size) {
  RepeatOptions repeats;
  for (std::int32_t id = 0; id < std::min(vocab_size, tokenizer.vocab_size()); ++id) {
    if (tokenizer.special_name(id).empty()) {
      repeats.tokens.push_back(id);
    }
  }
  if (tokenizer.prepends_begin_token()) {
    repeats.first = tokenizer.begin_of_text();
  }
  return repeats;
}

Index repeat_length(const RepeatOptions& repeats, Index block_size) {
  return std::min(repeats.length, (block_size - (repeats.first ? 1 : 0)) / 2);
}

Index repeat_tokens(const RepeatOptions& repeats, Index block_size) {
  const Index length = repeat_length(repeats, block_size);
  return length < 1 ? 0 : (repeats.first ? 1 : 0) + 2 * length;
}

RepeatedTokens repeated_tokens(const RepeatOptions& repeats, Index vocab_size, Index length,
                               Index number) {
  const RandomStream random =
      RandomStream{repeats.seed, 0}.fork(static_cast<std::uint64_t>(number));
  const auto choices = static_cast<std::uint64_t>(
      repeats.tokens.empty() ? vocab_size : static_cast<Index>(repeats.tokens.size()));
  std::vector<std::int32_t> copy;
  for (Index i = 0; i < length; ++i) {
    const std::uint64_t drawn = random.below(static_cast<std::uint64_t>(i), choices);
    copy.push_back(repeats.tokens.empty() ? static_cast<std::int32_t>(drawn)
                                          : repeats.tokens[drawn]);
  }
  RepeatedTokens result;
  if (repeats.first) {
    result.tokens.push_back(*repeats.first);
  }
  result.repeat_begin = static_cast<Index>(result.tokens.size()) + length;
  result.tokens.insert(result.tokens.end(), copy.begin(), copy.end());
  result.tokens.insert(result.tokens.end(), copy.begin(), copy.end());
  return result;
}

std::vector<std::vector<std::int32_t>> repeated_sequences(const RepeatOptions& repeats,
                                                          const GptConfig& config) {
  require_value(config.causal, "data",
                "expected a text: repeated random tokens measure causal models only");
  const Index length = repeat_length(repeats, config.block_size);
  require_value(repeats.sequences >= 1 && length >= 1, "repeats",
                "expected at least one sequence and a block with room for two copies of a "
                "token, got ",
                repeats.sequences, " sequences and a block of ", config.block_size);
  std::vector<std::vector<std::int32_t>> sequences;
  for (Index number = 0; number < repeats.sequences; ++number) {
    sequences.push_back(repeated_tokens(repeats, config.vocab_size, length, number).tokens);
  }
  return sequences;
}

}  // namespace headlight
