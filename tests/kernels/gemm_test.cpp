#include "kernels/column_sums.h"
#include "kernels/gemm/openblas.h"
#include "kernels/gemm_products.h"
#include "support/test.h"

TEST_CASE("gemm with beta 0 does not read C, not even NaN") {
  for (const Index k : {Index{0}, Index{2}, Index{80}}) {
    Operands<float> operands({.m = 80, .n = 80, .k = k});
    std::fill(operands.c.begin(), operands.c.end(), std::numeric_limits<float>::quiet_NaN());
    kernels::gemm(gemm_of({.m = 80, .n = 80, .k = k}, operands));
    CHECK(operands.c[0] == operands.c[0]);
    CHECK(operands.c[80 * 80 - 1] == operands.c[80 * 80 - 1]);
  }
}

TEST_CASE("gemm passes NaN of its operands on") {
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
  check_parts(description, {", core ", " build"});
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
