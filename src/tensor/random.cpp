#include "headlight/tensor/random.h"

#include <cmath>
#include <numbers>

#include "tensor/philox.h"

namespace headlight {

std::array<std::uint32_t, 4> RandomStream::block(std::uint64_t block) const {
  const PhiloxWords words = philox(seed, stream, block);
  return {words.w[0], words.w[1], words.w[2], words.w[3]};
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
