#pragma once

#include <cstdint>
#include <vector>

// Ten sequences of 16, 5, 11, 2, 4, 5, 1, 20, 16 and 14 ids below 100. They have 94 tokens; a
// padded batch has 200 places. One sequence has a single token and no target.
inline const std::vector<std::vector<std::int32_t>>& seed_sequences() {
  static const std::vector<std::vector<std::int32_t>> sequences = {
      {62, 13, 47, 39, 78, 33, 56, 13, 39, 29, 44, 86, 71, 36, 18, 75},
      {60, 96, 51, 32, 90},
      {35, 45, 48, 65, 91, 99, 92, 10, 3, 21, 54},
      {75, 51},
      {66, 88, 98, 47},
      {21, 39, 10, 64, 21},
      {98},
      {77, 65, 51, 77, 19, 15, 35, 19, 23, 97, 50, 46, 53, 42, 45, 91, 66, 3, 43, 10},
      {70, 64, 98, 25, 99, 53, 4, 13, 69, 62, 66, 76, 15, 75, 45, 34},
      {20, 64, 81, 35, 76, 85, 1, 62, 8, 45, 99, 77, 19, 43}};
  return sequences;
}
