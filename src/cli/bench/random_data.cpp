#include "cli/bench/random_data.h"

namespace headlight::cli {
namespace {

constexpr std::uint64_t kTokenSeed = 2718;

}  // namespace

TokenDataset random_documents(Index count, Index longest, Index vocab_size,
                              const RandomStream& lengths) {
  TokenDataset dataset{.sequences = {}, .token_count = 0, .documents = true};
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    const auto inputs =
        static_cast<Index>(1 + lengths.below(i, static_cast<std::uint64_t>(longest)));
    dataset.sequences.push_back(random_tokens(inputs + 1, vocab_size, i));
    dataset.token_count += inputs + 1;
  }
  return dataset;
}

std::vector<std::int32_t> random_tokens(Index count, Index vocab_size, std::uint64_t stream) {
  const RandomStream random{kTokenSeed, stream};
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<std::int32_t>(random.below(i, static_cast<std::uint64_t>(vocab_size)));
  }
  return tokens;
}

}  // namespace headlight::cli
