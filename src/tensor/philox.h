#pragma once

#include <cstdint>

// Unnamed namespace: kernels/variants compiles this for several instruction sets, and the copies
// must not be merged.
namespace headlight {
namespace {

struct PhiloxWords {
  std::uint32_t w[4];
};

// Returns block `block` of a Philox4x32-10 stream; see RandomStream. Uses scalar words without an
// inner loop, so that a loop over blocks vectorises.
inline PhiloxWords philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t block) {
  std::uint32_t c0 = static_cast<std::uint32_t>(block);
  std::uint32_t c1 = static_cast<std::uint32_t>(block >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(stream);
  std::uint32_t c3 = static_cast<std::uint32_t>(stream >> 32);
  std::uint32_t key0 = static_cast<std::uint32_t>(seed);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * c0;
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ key0;
    c1 = static_cast<std::uint32_t>(product1);
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c3 = static_cast<std::uint32_t>(product0);
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace
}  // namespace headlight
