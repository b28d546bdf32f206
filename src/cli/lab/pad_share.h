#pragma once

#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight::cli::lab {

// Mean weight of real queries on all pads of their row together and on a single one, over rows
// that have pads.
struct PadShare {
  double together = 0;
  double each = 0;
};

// weights [B, H, L, L]; lengths [B], the real tokens of each sequence.
PadShare share_of_pads(const Tensor& weights, const std::vector<Index>& lengths);

// Largest difference between the rows of two pads of sequence 1, which has `length` real tokens.
double spread_of_pad_rows(const Tensor& weights, Index length);

}  // namespace headlight::cli::lab
