#pragma once

#include <array>
#include <cstdint>

#include "headlight/tensor/tensor.h"

namespace headlight {

// Counter-based random numbers: number n of a stream is a pure function of (seed, stream, n).
// Repeating or resuming a run needs no saved state, and threads cannot change a value.
//
// Philox4x32-10: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;

  // Returns the four independent 32-bit words of block `block`.
  std::array<std::uint32_t, 4> block(std::uint64_t block) const;
  // Returns the word at `position`.
  std::uint32_t word(std::uint64_t position) const;
  // Uniform in [0, 1) with 24 bits: the same value in float32 and float64.
  double uniform(std::uint64_t position) const;
  // Uniform in 0 ... bound - 1 (bias below bound / 2^64). `bound` must be positive.
  std::uint64_t below(std::uint64_t position, std::uint64_t bound) const;
  // Standard normal, by the Box-Muller transform.
  double normal(std::uint64_t position) const;
  // Returns an independent stream.
  RandomStream fork(std::uint64_t label) const;
};

// Returns a tensor of independent samples; element i is number i of the stream.
Tensor random_uniform(const Shape& shape, const RandomStream& random, double low = 0.0,
                      double high = 1.0, DType dtype = DType::float32);
Tensor random_normal(const Shape& shape, const RandomStream& random, double mean = 0.0,
                     double deviation = 1.0, DType dtype = DType::float32);

}  // namespace headlight
