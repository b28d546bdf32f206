#pragma once

#include <cstdint>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

// Two tokens that stand side by side.
struct MergePair {
  std::int32_t left = 0;
  std::int32_t right = 0;

  bool operator==(const MergePair&) const = default;
};

// What is known of a pair.
struct PairRecord {
  MergePair pair{.left = -1};  // left below 0: no pair
  Index count = 0;             // times that it was seen in the corpus
  std::int32_t fresh = -1;     // where its new occurrences are being listed; -1: there are none
};

// The records of all pairs: a hash table with open addressing. References last until the next at().
class PairTable {
 public:
  PairTable();

  // The record of a pair; a new one when there is none.
  PairRecord& at(MergePair pair);

 private:
  std::size_t find(const std::vector<PairRecord>& records, MergePair pair) const;
  void grow();

  std::vector<PairRecord> records_;  // a power of two
  std::size_t used_ = 0;
};

}  // namespace headlight
