#include "kernels/gemm.h"

#include <limits>
#include <vector>

#include "kernels/column_sums.h"
#include "support/tensors.h"

using namespace headlight;
using namespace headlight::test;
using kernels::Gemm;

namespace {

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
  std::vector<T> values;
  for (Index i = 0; i < rows * stride; ++i) {
    values.push_back(
        static_cast<T>(RandomStream{31, stream}.uniform(static_cast<std::uint64_t>(i)) - 0.5));
  }
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
Gemm<T> gemm_of(const Product& p, Operands<T>& operands) {
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

// Three nested loops; elements between the rows of C stay as they are.
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

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = a.size() == b.size() ? 0 : 1e300;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    worst = difference <= worst ? worst : difference;  // NaN counts as worst
  }
  return worst;
}

template <class T>
void check_product(const Product& p, double tolerance) {
  INFO("m " << p.m << ", n " << p.n << ", k " << p.k << ", transposed " << p.transpose_a
            << p.transpose_b << ", alpha " << p.alpha << ", beta " << p.beta << ", bias " << p.bias
            << ", gap " << p.gap);
  Operands<T> tiled(p);
  Operands<T> whole = tiled;
  const std::vector<double> expected = naive(p, tiled);
  kernels::gemm(gemm_of(p, tiled));
  kernels::gemm_on_this_thread(gemm_of(p, whole));
  CHECK(largest_difference({tiled.c.begin(), tiled.c.end()}, expected) < tolerance);
  CHECK(largest_difference({whole.c.begin(), whole.c.end()}, expected) < tolerance);
}

void check_both_types(const Product& p) {
  check_product<float>(p, 1e-4);
  check_product<double>(p, 1e-12);
}

}  // namespace

TEST_CASE("gemm agrees with three nested loops for odd sizes and every transposition") {
  const Index sizes[] = {0, 1, 7, 65};
  for (const Index m : sizes) {
    for (const Index n : sizes) {
      for (const Index k : sizes) {
        for (const int flips : {0, 1, 2, 3}) {
          check_both_types({.m = m,
                            .n = n,
                            .k = k,
                            .transpose_a = (flips & 1) != 0,
                            .transpose_b = (flips & 2) != 0});
        }
      }
    }
  }
}

TEST_CASE("gemm agrees with three nested loops when it is cut into tiles") {
  for (const int flips : {0, 1, 2, 3}) {
    check_both_types({.m = 800,  // more than a tile in both directions
                      .n = 801,
                      .k = 9,
                      .transpose_a = (flips & 1) != 0,
                      .transpose_b = (flips & 2) != 0,
                      .gap = 3});
  }
  check_both_types({.m = 1, .n = 1700, .k = 40});
  check_both_types({.m = 1700, .n = 1, .k = 40, .transpose_a = true});
  check_both_types({.m = 800, .n = 800, .k = 9, .bias = true});
  check_both_types({.m = 300, .n = 301, .k = 300});
}

TEST_CASE("gemm scales the product, adds to C and adds a bias") {
  for (const Index gap : {Index{0}, Index{5}}) {
    check_both_types({.m = 7, .n = 9, .k = 5, .alpha = -2.5, .gap = gap});
    check_both_types({.m = 7, .n = 9, .k = 5, .alpha = 0.5, .beta = 1, .gap = gap});
    check_both_types({.m = 7, .n = 9, .k = 5, .alpha = 2, .beta = -0.25, .gap = gap});
    check_both_types({.m = 7, .n = 9, .k = 5, .alpha = 2, .bias = true, .gap = gap});
    check_both_types({.m = 150, .n = 170, .k = 65, .beta = 1, .gap = gap});
  }
}

TEST_CASE("gemm without inner elements leaves the bias, beta times C, or zero") {
  check_both_types({.m = 3, .n = 4, .k = 0, .gap = 2});
  check_both_types({.m = 3, .n = 4, .k = 0, .beta = 0.5, .gap = 2});
  check_both_types({.m = 3, .n = 4, .k = 0, .bias = true, .gap = 2});
}

TEST_CASE("gemm with beta 0 does not read C, not even NaN") {
  for (const Index k : {Index{0}, Index{2}, Index{80}}) {
    Operands<float> operands({.m = 80, .n = 80, .k = k});
    std::fill(operands.c.begin(), operands.c.end(), std::numeric_limits<float>::quiet_NaN());
    kernels::gemm(gemm_of({.m = 80, .n = 80, .k = k}, operands));
    CHECK(operands.c[0] == operands.c[0]);
    CHECK(operands.c[80 * 80 - 1] == operands.c[80 * 80 - 1]);
  }
}

TEST_CASE("gemm lets NaN of its operands through") {
  Operands<double> operands({.m = 3, .n = 3, .k = 3});
  operands.a[4] = std::numeric_limits<double>::quiet_NaN();
  kernels::gemm(gemm_of({.m = 3, .n = 3, .k = 3}, operands));
  CHECK(operands.c[0] == operands.c[0]);
  CHECK(operands.c[3] != operands.c[3]);
  CHECK(operands.c[5] != operands.c[5]);
}

TEST_CASE("the description of BLAS names the library, its kernels and its threading") {
  const std::string description = kernels::blas_description();
  CHECK(description.rfind("OpenBLAS ", 0) == 0);
  CHECK(description.find(", core ") != std::string::npos);
  CHECK(description.find(" build") != std::string::npos);
}

TEST_CASE("column_sums adds up the rows of a matrix") {
  for (const Index rows : {Index{0}, Index{1}, Index{63}, Index{64}, Index{65}, Index{5000}}) {
    for (const Index columns : {Index{1}, Index{7}, Index{130}}) {
      const std::vector<double> x = matrix<double>(rows, columns, 9);
      std::vector<double> sums(static_cast<std::size_t>(columns), -1);
      kernels::column_sums(x.data(), rows, columns, sums.data());
      std::vector<double> expected(sums.size(), 0);
      for (Index i = 0; i < rows * columns; ++i) {
        expected[static_cast<std::size_t>(i % columns)] += x[static_cast<std::size_t>(i)];
      }
      CHECK(largest_difference(sums, expected) < 1e-11);
    }
  }
}
