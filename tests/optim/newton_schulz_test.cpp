#include "optim/optim_support.h"
#include "support/test.h"

// Computes the iteration as in the paper, with ops.
Tensor reference(const Tensor& matrix, const NewtonSchulzOptions& options) {
  const bool tall = matrix.size(0) > matrix.size(1);
  Tensor x = tall ? to_contiguous(transpose(matrix)) : matrix;
  x = x / std::sqrt(sum(x * x).item());
  for (Index step = 0; step < options.steps; ++step) {
    const Tensor g = matmul(x, transpose(x));
    x = x * options.a + matmul(g * options.b + matmul(g, g) * options.c, x);
  }
  return tall ? to_contiguous(transpose(x)) : x;
}

// Returns the largest deviation of X X^T (for a tall X, X^T X) from the identity.
double distance_from_orthogonal(const Tensor& x) {
  const bool tall = x.size(0) > x.size(1);
  const Tensor g = tall ? matmul(transpose(x), x) : matmul(x, transpose(x));
  const std::vector<double> values = g.to_vector();
  double worst = 0;
  for (Index i = 0; i < g.numel(); ++i) {
    const double wanted = i % (g.size(0) + 1) == 0 ? 1 : 0;
    worst = std::max(worst, std::abs(values[static_cast<std::size_t>(i)] - wanted));
  }
  return worst;
}

// Options that converge to singular values of 1: s (3 - s^2) / 2.
constexpr NewtonSchulzOptions kConverging{.steps = 60, .a = 1.5, .b = -0.5, .c = 0};

TEST_CASE("Newton-Schulz iteration is that of the paper, for matrices of all shapes") {
  // From size 256 on, symmetric products are computed in panels; the last one is smaller.
  for (const Shape& shape : {Shape{1, 1}, Shape{5, 9}, Shape{9, 5}, Shape{7, 7}, Shape{259, 300},
                             Shape{400, 391}, Shape{1, 40}, Shape{40, 1}}) {
    INFO(shape);
    const Tensor matrix = noise(shape, 3);
    check_close(orthogonalize(matrix), reference(matrix, {}), 1e-12);
    const Tensor rounded = convert(matrix, DType::float32);
    check_close(convert(orthogonalize(rounded), DType::float64), reference(matrix, {}), 1e-4);
  }
}

TEST_CASE("Newton-Schulz iteration with coefficients that converge makes matrices orthogonal") {
  for (const Shape& shape : {Shape{4, 9}, Shape{9, 4}, Shape{6, 6}}) {
    CHECK(distance_from_orthogonal(orthogonalize(noise(shape, 5), kConverging)) < 1e-12);
  }
}

TEST_CASE("five steps of Newton-Schulz bring singular values near 1, whatever the scale") {
  for (const double scale : {1e-6, 1.0, 1e6}) {
    // Orthogonal up to its scale: all singular values are equal.
    const Tensor same = orthogonalize(noise({8, 30}, 5), kConverging) * scale;
    CHECK(distance_from_orthogonal(orthogonalize(same)) < 0.5);
  }
}

TEST_CASE("Newton-Schulz iteration leaves zero and empty matrices unchanged") {
  check_values(orthogonalize(Tensor::zeros({3, 2})), std::vector<double>(6, 0.0));
  CHECK(orthogonalize(Tensor::zeros({0, 4})).shape() == Shape{0, 4});
}

TEST_CASE("Newton-Schulz iteration has the same bits for any number of threads") {
  for (const Shape& shape : {Shape{300, 700}, Shape{700, 300}, Shape{40, 50}}) {
    const Tensor matrix = noise(shape, 7, DType::float32);
    const auto with_threads = [&](int count) {
      const ThreadScope scope(count);
      return orthogonalize(matrix);
    };
    const Tensor one = with_threads(1);
    CHECK(same_bits(with_threads(2), one));
    CHECK(same_bits(with_threads(3), one));
  }
}

TEST_CASE("Newton-Schulz iteration refuses tensors that are not matrices") {
  const std::string message = "[orthogonalize] expected a matrix of contiguous elements";
  CHECK_THROWS_WITH(orthogonalize(Tensor()), message);
  CHECK_THROWS_WITH(orthogonalize(Tensor::ones({2, 3, 4})), message);
  CHECK_THROWS_WITH(orthogonalize(Tensor::ones({2, 3}).strided_view({3, 2}, {1, 3})), message);
}
