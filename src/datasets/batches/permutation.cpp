#include "datasets/batches/permutation.h"

#include <bit>

namespace headlight {
namespace {

// Four rounds are enough for a pseudorandom order; more make orders of a few numbers uniform.
constexpr std::uint64_t kRounds = 8;

}  // namespace

Permutation::Permutation(Index count, const RandomStream& random)
    : count_(static_cast<std::uint64_t>(count)), random_(random) {
  const auto bits = static_cast<unsigned>(std::bit_width(count_ - 1));
  half_bits_ = bits < 2 ? 1 : (bits + 1) / 2;
}

Index Permutation::operator()(Index index) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  auto number = static_cast<std::uint64_t>(index);
  do {
    std::uint64_t left = number >> half_bits_;
    std::uint64_t right = number & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      // The halves have at most 31 bits.
      const std::uint64_t mixed = random_.block(round << 32 | right)[0] & mask;
      const std::uint64_t next = left ^ mixed;
      left = right;
      right = next;
    }
    number = left << half_bits_ | right;
  } while (number >= count_);
  return static_cast<Index>(number);
}

}  // namespace headlight
