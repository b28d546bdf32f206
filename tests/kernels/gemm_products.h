#pragma once

#include "kernels/gemm/gemm.h"
#include "support/products.h"
#include "support/test.h"

// Matrix products, and their reference results by three nested loops.
namespace headlight::test {

struct Product {
  Index m = 0;
  Index n = 0;
  Index k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  double alpha = 1;
  double beta = 0;
  bool bias = false;
  Index gap = 0;  // elements between the rows of every operand
};

template <class T>
std::vector<T> matrix(Index rows, Index stride, std::uint64_t stream) {
  auto values = counted<T>(rows * stride, [&](Index i) {
    return static_cast<T>(RandomStream{31, stream}.uniform(static_cast<std::uint64_t>(i)) - 0.5);
  });
  values.push_back(T{0});  // so that an empty matrix has an address
  return values;
}

template <class T>
struct Operands {
  explicit Operands(const Product& p)
      : a_stride((p.transpose_a ? p.m : p.k) + p.gap),
        b_stride((p.transpose_b ? p.k : p.n) + p.gap),
        c_stride(p.n + p.gap),
        a(matrix<T>(p.transpose_a ? p.k : p.m, a_stride, 1)),
        b(matrix<T>(p.transpose_b ? p.n : p.k, b_stride, 2)),
        c(matrix<T>(p.m, c_stride, 3)),
        bias(matrix<T>(1, p.n, 4)) {}

  Index a_stride;
  Index b_stride;
  Index c_stride;
  std::vector<T> a;
  std::vector<T> b;
  std::vector<T> c;
  std::vector<T> bias;
};

template <class T>
kernels::Gemm<T> gemm_of(const Product& p, Operands<T>& operands) {
  return {.m = p.m,
          .n = p.n,
          .k = p.k,
          .a = operands.a.data(),
          .a_stride = std::max<Index>(operands.a_stride, 1),
          .transpose_a = p.transpose_a,
          .b = operands.b.data(),
          .b_stride = std::max<Index>(operands.b_stride, 1),
          .transpose_b = p.transpose_b,
          .c = operands.c.data(),
          .c_stride = std::max<Index>(operands.c_stride, 1),
          .alpha = static_cast<T>(p.alpha),
          .beta = static_cast<T>(p.beta),
          .bias = p.bias ? operands.bias.data() : nullptr};
}

// Records for every element of C how often `after` was called for it, and its value then.
template <class T>
class Witness {
 public:
  explicit Witness(kernels::Gemm<T>& product)
      : product_(product),
        calls_(static_cast<std::size_t>(product.m * product.n)),
        seen_(calls_.size()) {
    product.after = [this](const kernels::GemmRegion& region) { note(region); };
  }

  bool saw_each_once() const {
    return std::all_of(calls_.begin(), calls_.end(), [](const auto& count) { return count == 1; });
  }
  bool saw_final_values() const {
    bool same = true;
    for (Index i = 0; i < product_.m * product_.n; ++i) {
      const T now = product_.c[i / product_.n * product_.c_stride + i % product_.n];
      same = same && seen_[static_cast<std::size_t>(i)] == now;
    }
    return same;
  }

 private:
  void note(const kernels::GemmRegion& region) {
    for (Index row = region.row; row < region.row + region.rows; ++row) {
      for (Index column = region.column; column < region.column + region.columns; ++column) {
        const auto place = static_cast<std::size_t>(row * product_.n + column);
        ++calls_.at(place);
        seen_.at(place) = product_.c[row * product_.c_stride + column];
      }
    }
  }

  const kernels::Gemm<T>& product_;
  std::vector<std::atomic<int>> calls_;  // [m, n]
  std::vector<T> seen_;                  // [m, n]
};

// Reference by three nested loops; leaves the gaps between the rows of C unchanged.
template <class T>
std::vector<double> naive(const Product& p, const Operands<T>& o) {
  std::vector<double> c(o.c.begin(), o.c.end());
  for (Index i = 0; i < p.m; ++i) {
    for (Index j = 0; j < p.n; ++j) {
      double sum = 0;
      for (Index l = 0; l < p.k; ++l) {
        const Index from_a = p.transpose_a ? l * o.a_stride + i : i * o.a_stride + l;
        const Index from_b = p.transpose_b ? j * o.b_stride + l : l * o.b_stride + j;
        sum += static_cast<double>(o.a[static_cast<std::size_t>(from_a)]) *
               static_cast<double>(o.b[static_cast<std::size_t>(from_b)]);
      }
      double& to = c[static_cast<std::size_t>(i * o.c_stride + j)];
      const double rest = p.bias        ? static_cast<double>(o.bias[static_cast<std::size_t>(j)])
                          : p.beta == 0 ? 0
                                        : p.beta * to;
      to = p.alpha * sum + rest;
    }
  }
  return c;
}

inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = a.size() == b.size() ? 0 : 1e300;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    worst = difference <= worst ? worst : difference;  // NaN counts as worst
  }
  return worst;
}

}  // namespace headlight::test
