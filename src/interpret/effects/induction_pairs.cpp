#include "headlight/interpret/effects/induction_pairs.h"

#include <algorithm>
#include <numeric>

#include "headlight/base/error.h"
#include "headlight/tensor/random.h"

namespace headlight {
namespace {

constexpr Index kShortest = 5;  // A, B, one more, X and Y

// Draws `count` different tokens (Fisher-Yates shuffle of the copy `available`).
std::vector<std::int32_t> draw(std::vector<std::int32_t> available, std::size_t count,
                               const RandomStream& random) {
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(available[i], available[i + random.below(i, available.size() - i)]);
  }
  available.resize(count);
  return available;
}

// Number of tokens before A that are repeated with it.
Index lead_of(Index length) { return length / 6; }

// Draws a position from `low` to `high`, both included.
Index draw_position(Index low, Index high, const RandomStream& random) {
  return low + static_cast<Index>(random.below(0, static_cast<std::uint64_t>(high - low + 1)));
}

InductionPair pair_of(const std::vector<std::int32_t>& tokens, const RandomStream& random,
                      std::optional<std::int32_t> first) {
  const Index lead = lead_of(std::ssize(tokens));
  const Index last_x = std::ssize(tokens) - 2;
  const Index a = draw_position(lead, last_x - lead - 2, random.fork(0));
  const Index x = draw_position(a + lead + 2, last_x, random.fork(1));
  const auto at = [&](Index position) { return tokens[static_cast<std::size_t>(position)]; };
  InductionPair pair{
      .task = {.clean = tokens, .corrupt = {}, .answer = {at(a + 1)}, .wrong = {at(x + 1)}},
      .answer_position = a + 1,
      .wrong_position = x + 1};
  std::vector<std::int32_t>& clean = pair.task.clean;
  clean.insert(clean.end(), tokens.begin() + a - lead, tokens.begin() + a + 1);
  pair.task.corrupt = clean;
  const auto first_a = pair.task.corrupt.begin() + a - lead;
  std::swap_ranges(first_a, first_a + lead + 1, pair.task.corrupt.begin() + x - lead);
  if (first) {
    clean.insert(clean.begin(), *first);
    pair.task.corrupt.insert(pair.task.corrupt.begin(), *first);
    ++pair.answer_position;
    ++pair.wrong_position;
  }
  return pair;
}

}  // namespace

std::vector<InductionPair> induction_pairs(const RepeatOptions& repeats, const GptConfig& config) {
  std::vector<std::int32_t> available = repeats.tokens;
  if (available.empty()) {
    available.resize(static_cast<std::size_t>(config.vocab_size));
    std::iota(available.begin(), available.end(), 0);
  }
  std::sort(available.begin(), available.end());
  available.erase(std::unique(available.begin(), available.end()), available.end());
  Index length = std::min(repeats.length, std::ssize(available));
  while (length + lead_of(length) + 1 + (repeats.first ? 1 : 0) > config.block_size) {
    --length;
  }
  require_value(repeats.sequences >= 1 && length >= kShortest, "repeats",
                "expected at least one pair, and a block with room for ", kShortest,
                " different tokens and a repeat, got ", repeats.sequences, " pairs, ",
                std::ssize(available), " tokens and a block of ", config.block_size);
  std::vector<InductionPair> pairs;
  for (Index number = 0; number < repeats.sequences; ++number) {
    const RandomStream random =
        RandomStream{repeats.seed, 1}.fork(static_cast<std::uint64_t>(number));
    pairs.push_back(
        pair_of(draw(available, static_cast<std::size_t>(length), random), random, repeats.first));
  }
  return pairs;
}

}  // namespace headlight
