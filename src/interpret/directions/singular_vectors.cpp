#include "interpret/directions/singular_vectors.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/transformed.h"
#include "headlight/base/error.h"
#include "headlight/ops/layout.h"

namespace headlight {
namespace {

using Columns = std::vector<std::vector<double>>;

double product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Columns columns_of(const Tensor& matrix) {
  Columns columns;
  for (Index j = 0; j < matrix.size(1); ++j) {
    columns.push_back(convert(select(matrix, 1, j), DType::float64).to_vector());
  }
  return columns;
}

Tensor matrix_of(const Columns& columns) {
  std::vector<double> rows;
  for (const std::vector<double>& column : columns) {
    rows.insert(rows.end(), column.begin(), column.end());
  }
  const Index count = std::ssize(columns);
  return to_contiguous(transpose(Tensor::from(rows, {count, std::ssize(rows) / count}), 0, 1));
}

void rotate(std::vector<double>& a, std::vector<double>& b, double cosine, double sine) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double before = a[i];
    a[i] = cosine * before - sine * b[i];
    b[i] = sine * before + cosine * b[i];
  }
}

// Makes two columns orthogonal. Returns false if they are so.
bool orthogonalise(std::vector<double>& a, std::vector<double>& b, std::vector<double>& right_a,
                   std::vector<double>& right_b) {
  constexpr double kTolerance = 1e-15;
  const double both = product(a, b);
  const double of_a = product(a, a);
  const double of_b = product(b, b);
  if (std::abs(both) <= kTolerance * std::sqrt(of_a * of_b)) {
    return false;
  }
  const double zeta = (of_b - of_a) / (2 * both);
  const double tangent = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
  const double cosine = 1 / std::hypot(1.0, tangent);
  rotate(a, b, cosine, cosine * tangent);
  rotate(right_a, right_b, cosine, cosine * tangent);
  return true;
}

}  // namespace

SingularVectors singular_vectors(const Tensor& a) {
  constexpr int kMostSweeps = 60;
  require(a.rank() == 2 && a.size(0) >= a.size(1) && a.size(1) > 0,
          "[singular_vectors] expected at least as many rows as columns, got ", a.shape());
  Columns left = columns_of(a);
  Columns right = columns_of(Tensor::eye(a.size(1), DType::float64));
  for (const std::vector<double>& column : left) {
    require(std::isfinite(product(column, column)), "[singular_vectors] expected finite numbers");
  }
  bool is_rotated = true;
  for (int sweep = 0; is_rotated && sweep < kMostSweeps; ++sweep) {
    is_rotated = false;
    for (std::size_t p = 0; p < left.size(); ++p) {
      for (std::size_t q = p + 1; q < left.size(); ++q) {
        is_rotated = orthogonalise(left[p], left[q], right[p], right[q]) || is_rotated;
      }
    }
  }
  std::vector<double> values;
  for (std::vector<double>& column : left) {
    values.push_back(std::sqrt(product(column, column)));
    for (double& element : column) {
      element /= values.back() > 0 ? values.back() : 1;
    }
  }
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return values[i]; });
  const auto ordered = [&](const auto& list) {
    return transformed(order, [&](std::size_t i) { return list[i]; });
  };
  return {matrix_of(ordered(left)), ordered(values), matrix_of(ordered(right))};
}

}  // namespace headlight
