#include "headlight/tensor/random.h"

#include <cmath>
#include <numbers>

namespace headlight {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53U;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57U;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;
constexpr int kRounds = 10;

std::uint32_t low_word(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high_word(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

}  // namespace

std::array<std::uint32_t, 4> RandomStream::block(std::uint64_t block) const {
  std::array<std::uint32_t, 4> counter{low_word(block), high_word(block), low_word(stream),
                                       high_word(stream)};
  std::uint32_t key0 = low_word(seed);
  std::uint32_t key1 = high_word(seed);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {high_word(product1) ^ counter[1] ^ key0, low_word(product1),
               high_word(product0) ^ counter[3] ^ key1, low_word(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

std::uint32_t RandomStream::word(std::uint64_t position) const {
  return block(position / 4)[position % 4];
}

double RandomStream::uniform(std::uint64_t position) const {
  return static_cast<double>(word(position) >> 8) * 0x1.0p-24;
}

std::uint64_t RandomStream::below(std::uint64_t position, std::uint64_t bound) const {
  // 64 random bits scaled by the bound: the bias is below bound / 2^64.
  const auto words = block(position);
  const std::uint64_t bits = (std::uint64_t{words[0]} << 32) | words[1];
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits) * bound) >> 64);
}

double RandomStream::normal(std::uint64_t position) const {
  const auto words = block(position);
  const double u = (static_cast<double>(words[0]) + 1.0) * 0x1.0p-32;  // in (0, 1]
  const double v = static_cast<double>(words[1]) * 0x1.0p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

RandomStream RandomStream::fork(std::uint64_t label) const {
  const auto words = RandomStream{seed, ~stream}.block(label);
  return {seed, (std::uint64_t{words[0]} << 32) | words[1]};
}

}  // namespace headlight
