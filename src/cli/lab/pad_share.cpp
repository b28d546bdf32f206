#include "cli/lab/pad_share.h"

#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/reduce.h"

namespace headlight::cli::lab {

PadShare share_of_pads(const Tensor& weights, const std::vector<Index>& lengths) {
  const std::vector<double> values = weights.to_vector();
  const Index side = weights.size(-1);
  double sum = 0;
  double pads = 0;
  Index rows = 0;
  for (Index row = 0; row < weights.numel() / side; ++row) {
    const Index length = lengths[static_cast<std::size_t>(row / (side * weights.size(1)))];
    if (row % side >= length || length == side) {
      continue;
    }
    for (Index s = length; s < side; ++s) {
      sum += values[static_cast<std::size_t>(row * side + s)];
      ++pads;
    }
    ++rows;
  }
  return {sum / static_cast<double>(rows), sum / pads};
}

double spread_of_pad_rows(const Tensor& weights, Index length) {
  const Index side = weights.size(-1);
  const Tensor rows = slice(slice(weights, 0, 1, 2), 2, length, side);
  const Tensor last = slice(rows, 2, side - length - 1, side - length);
  return max(sqrt(pow(sub(rows, last), 2))).item();
}

}  // namespace headlight::cli::lab
