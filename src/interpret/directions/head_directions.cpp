#include "headlight/interpret/directions/head_directions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/transformed.h"
#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/tensor/tensor.h"
#include "interpret/effects/frozen_norm.h"
#include "interpret/scores/head_matrices.h"

namespace headlight {
namespace {

// a = left diag(values) right^T, for a [M, N] with M >= N.
struct SingularVectors {
  Tensor left;                 // [M, N] float64, zero columns where the value is 0
  std::vector<double> values;  // [N], the largest first
  Tensor right;                // [N, N]
};

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

// Computes the singular value decomposition by one-sided Jacobi rotations (Hestenes), on one
// thread: the bits of the result do not depend on the machine's libraries. Throws Error for
// elements that are not finite and more columns than rows.
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

// Returns the columns of a matrix [C, D] as rows [D, C], each with the sign with which the largest
// entry of the same row of `by` [D, C] is positive.
Tensor signed_rows(const Tensor& columns, const Tensor& by) {
  const std::vector<double> entries = by.to_vector();
  std::vector<double> signs;
  for (auto row = entries.begin(); row != entries.end(); row += by.size(1)) {
    const double largest = *std::max_element(
        row, row + by.size(1), [](double a, double b) { return std::abs(a) < std::abs(b); });
    signs.push_back(largest < 0 ? -1 : 1);
  }
  return to_contiguous(transpose(columns, 0, 1)) * Tensor::from(signs, {std::ssize(signs), 1});
}

// Adds the tokens of a block to those found, and keeps the `count` largest.
void keep_largest(std::vector<TokenProduct>& found, std::span<const double> products, double sign,
                  Index first, Index count) {
  for (std::size_t i = 0; i < products.size(); ++i) {
    found.push_back({static_cast<std::int32_t>(first + static_cast<Index>(i)), sign * products[i]});
  }
  std::ranges::stable_sort(found, std::greater(), &TokenProduct::product);
  found.resize(std::min(found.size(), static_cast<std::size_t>(count)));
}

}  // namespace

HeadDirections head_directions(const Gpt& model, const HeadId& head, HeadCircuit circuit) {
  const NoGrad no_grad;
  const HeadMatrices matrices =
      head_matrices(model, head.layer, head_index(head, model.heads()), DType::float64);
  const bool is_ov = circuit == HeadCircuit::ov;
  const bool has_norm = model.config().norm == NormPosition::pre;
  const auto read = [&](const Tensor& rows) {  // [D, C], of the stream before the norm
    return has_norm ? FrozenNorm(model, Part::attention_norm, head.layer).pulled_back(rows) : rows;
  };
  const Tensor first = read(is_ov ? matrices.value : matrices.query);  // [D, C]
  const Tensor second =
      is_ov ? matrices.output : to_contiguous(transpose(read(matrices.key), 0, 1));  // [C, D]
  // first^T second^T = from values to^T, by way of first^T = left diag(inner) right^T.
  const SingularVectors outer = singular_vectors(to_contiguous(transpose(first, 0, 1)));
  const Tensor scaled = outer.right * Tensor::from(outer.values, {std::ssize(outer.values)});
  const SingularVectors inner = singular_vectors(matmul(second, scaled));  // [C, D]
  const Tensor to = to_contiguous(transpose(inner.left, 0, 1));
  return {inner.values, signed_rows(matmul(outer.left, inner.right), to),
          signed_rows(inner.left, to)};
}

std::vector<DirectionTokensFound> tokens_along(const Gpt& model, const Tensor& directions,
                                               TokenSide side, Index count,
                                               const std::function<void()>& pause) {
  constexpr Index kTokens = 4'096;  // at once
  const NoGrad no_grad;
  const bool is_read = side == TokenSide::read;
  const Tensor rows = is_read || !model.config().has_final_norm()
                          ? directions
                          : FrozenNorm(model, Part::final_norm, kNoLayer).of(directions);
  const Tensor along = convert(rows, model.dtype());
  const Tensor all = Tensor::arange(model.vocab_size());
  std::vector<DirectionTokensFound> found(static_cast<std::size_t>(directions.size(0)));
  for (Index first = 0; first < model.vocab_size(); first += kTokens) {
    const Tensor ids = slice(all, 0, first, std::min(first + kTokens, model.vocab_size()));
    const Tensor tokens = is_read ? model.scaled_embedding(ids) : model.head_rows(ids);
    const std::vector<double> products =
        matmul(along, transpose(convert(tokens, model.dtype()), 0, 1)).to_vector();  // [K, n]
    const auto width = static_cast<std::size_t>(ids.numel());
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::span<const double> row = std::span(products).subspan(k * width, width);
      keep_largest(found[k].most, row, 1, first, count);
      keep_largest(found[k].least, row, -1, first, count);
    }
    pause();
  }
  for (DirectionTokensFound& one : found) {
    for (TokenProduct& token : one.least) {
      token.product = -token.product;
    }
  }
  return found;
}

}  // namespace headlight
