#include "kernels/eigenvalues.h"
#include "support/test.h"

using Values = std::vector<std::complex<double>>;

// Largest distance of a value to the nearest of the others.
double distance(const Values& values, const Values& others) {
  double largest = 0;
  for (const std::complex<double>& value : values) {
    double nearest = std::abs(value - others.front());
    for (const std::complex<double>& other : others) {
      nearest = std::min(nearest, std::abs(value - other));
    }
    largest = std::max(largest, nearest);
  }
  return largest;
}

TEST_CASE("the QR algorithm gives the eigenvalues of known matrices") {
  // Companion matrix of (x - 1)(x - 2)(x^2 + 1) = x^4 - 3 x^3 + 3 x^2 - 3 x + 2.
  const Values roots =
      kernels::eigenvalues_by_qr({3, -3, 3, -2, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, 4);
  CHECK(distance({1.0, 2.0, {0, 1}, {0, -1}}, roots) < 1e-12);
  CHECK(kernels::eigenvalues_by_qr({5}, 1).front() == std::complex<double>(5));
  CHECK(distance({0.0}, kernels::eigenvalues_by_qr(std::vector<double>(9), 3)) == 0);
  // A cyclic permutation stalls without exceptional shifts.
  const Values units = kernels::eigenvalues_by_qr({0, 0, 1, 1, 0, 0, 0, 1, 0}, 3);
  for (const std::complex<double>& value : units) {
    CHECK(std::abs(std::pow(value, 3) - 1.0) < 1e-12);
  }
}

TEST_CASE("the QR algorithm agrees with LAPACK") {
  for (const Index n : {2, 3, 8, 33, 96}) {
    const std::vector<double> matrix =
        random_normal({n, n}, {7, static_cast<std::uint64_t>(n)}, 0, 1, DType::float64).to_vector();
    const Values expected = kernels::eigenvalues(matrix, n);
    const Values values = kernels::eigenvalues_by_qr(matrix, n);
    REQUIRE(values.size() == expected.size());
    CHECK(distance(values, expected) < 1e-10);
    CHECK(distance(expected, values) < 1e-10);
  }
}
