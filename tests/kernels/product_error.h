#pragma once

#include "support/test.h"

namespace headlight::test {

// Returns the largest difference of y [batch, rows] from the sums of products of weights [rows,
// columns] and x [batch, columns] in float64, relative to the sums of magnitudes.
inline double product_error(const std::vector<float>& weights, Index columns,
                            const std::vector<float>& x, const std::vector<float>& y) {
  const Index rows = std::ssize(weights) / columns;
  double furthest = 0;
  for (Index i = 0; i < std::ssize(y); ++i) {
    double sum = 0;
    double magnitude = 1e-30;
    for (Index k = 0; k < columns; ++k) {
      const double product =
          static_cast<double>(weights[static_cast<std::size_t>(i % rows * columns + k)]) *
          static_cast<double>(x[static_cast<std::size_t>(i / rows * columns + k)]);
      sum += product;
      magnitude += std::abs(product);
    }
    furthest = std::max(furthest, std::abs(y[static_cast<std::size_t>(i)] - sum) / magnitude);
  }
  return furthest;
}

}  // namespace headlight::test
