#pragma once

#include "headlight/tensor/random.h"
#include "headlight/tensor/shape.h"

namespace headlight {

// The numbers 0 ... count - 1 in random order, each computed separately. A Feistel network on the
// smallest even number of bits that holds them (M. Luby and C. Rackoff, "How to Construct
// Pseudorandom Permutations from Pseudorandom Functions", SIAM J. Comput. 17, 1988) with Philox as
// its round function. It is repeated until the result is in range (cycle walking: J. Black and P.
// Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002; fewer than four times on average).
class Permutation {
 public:
  // `count` is at least 1 and at most 2^62.
  Permutation(Index count, const RandomStream& random);

  // The number at `index`, 0 ... count - 1.
  Index operator()(Index index) const;

 private:
  std::uint64_t count_;
  RandomStream random_;
  unsigned half_bits_ = 1;
};

}  // namespace headlight
