#include "kernels/loops.h"
#include "support/cpu_variants.h"
#include "support/test.h"

using kernels::Loops;

// Lengths around every vector width: empty, remainders, and whole vectors with remainders.
constexpr Index kLengths[] = {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 100, 257};

template <class T>
std::vector<T> row(Index n, std::uint64_t stream, double scale = 1) {
  return counted<T>(n, [&](Index i) {
    const double unit = RandomStream{11, stream}.uniform(static_cast<std::uint64_t>(i));
    return static_cast<T>(scale * (2 * unit - 1));
  });
}

template <class T>
void check_row(const std::vector<T>& actual, const std::vector<double>& expected,
               double tolerance) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    INFO("element " << i << " of " << actual.size());
    CHECK(static_cast<double>(actual[i]) ==
          Approx(expected[i]).epsilon(tolerance).margin(tolerance));
  }
}

template <class T>
std::vector<double> wide(const std::vector<T>& row) {
  return {row.begin(), row.end()};
}

// Returns the gradients of one layer_norm row: of x, and of gain and shift, which have some before.
template <class T, class Row>
std::array<std::vector<T>, 3> layer_norm_gradients(const Loops<T>& loops, const Row& given,
                                                   Index n) {
  const std::vector<T> x(given(31));
  const std::vector<T> gain(given(32));
  const std::vector<T> y_grad(given(33));
  std::array<std::vector<T>, 3> grads{x, std::vector<T>(x.size(), T{1}),
                                      std::vector<T>(x.size(), T{2})};
  loops.layer_norm.backward({x.data(), gain.data(), y_grad.data(), grads[0].data(), grads[1].data(),
                             grads[2].data(), T(0.125), T(1.5)},
                            n);
  return grads;
}

TEST_CASE("add, add_scaled and scale work for every length") {
  for_all_loops([]<class T>(const Loops<T>& loops, double tolerance) {
    for (const Index n : kLengths) {
      const std::vector<T> a = row<T>(n, 1);
      const std::vector<T> b = row<T>(n, 2);
      std::vector<T> sum(a.size());
      std::vector<T> scaled_sum = b;
      std::vector<T> scaled = a;
      loops.add(a.data(), b.data(), sum.data(), n);
      loops.add_scaled(T{3}, a.data(), scaled_sum.data(), n);
      loops.scale(T(-0.5), scaled.data(), n);
      std::vector<double> expected[3];
      for (std::size_t i = 0; i < a.size(); ++i) {
        expected[0].push_back(static_cast<double>(a[i]) + static_cast<double>(b[i]));
        expected[1].push_back(3 * static_cast<double>(a[i]) + static_cast<double>(b[i]));
        expected[2].push_back(-0.5 * static_cast<double>(a[i]));
      }
      check_row(sum, expected[0], tolerance);
      check_row(scaled_sum, expected[1], tolerance);
      check_row(scaled, expected[2], tolerance);
    }
  });
}

TEST_CASE("add may write over one of its operands") {
  std::vector<float> a = row<float>(37, 1);
  const std::vector<float> before = a;
  kernels::loops<float>().add(a.data(), a.data(), a.data(), 37);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i] == 2 * before[i]);
  }
}

TEST_CASE("dot and sum_of_squares add up every length") {
  for_all_loops([]<class T>(const Loops<T>& loops, double tolerance) {
    for (const Index n : kLengths) {
      const std::vector<T> a = row<T>(n, 3);
      const std::vector<T> b = row<T>(n, 4);
      double product = 0;
      double squares = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        product += static_cast<double>(a[i]) * static_cast<double>(b[i]);
        squares += static_cast<double>(a[i]) * static_cast<double>(a[i]);
      }
      CHECK(static_cast<double>(loops.dot(a.data(), b.data(), n)) ==
            Approx(product).margin(10 * tolerance));
      CHECK(loops.sum_of_squares(a.data(), n) == Approx(squares).epsilon(1e-13).margin(1e-300));
    }
  });
}

TEST_CASE("sum_of_squares of floats does not overflow") {
  const std::vector<float> x(10, 1e30F);
  CHECK(kernels::loops<float>().sum_of_squares(x.data(), 10) == Approx(1e61).epsilon(1e-6));
}

TEST_CASE("maximum finds the largest element wherever it stands") {
  for_all_loops([]<class T>(const Loops<T>& loops, double) {
    CHECK(loops.maximum(nullptr, 0) == -std::numeric_limits<T>::infinity());
    for (const Index n : {Index{1}, Index{9}, Index{40}}) {
      for (Index place = 0; place < n; ++place) {
        std::vector<T> x(static_cast<std::size_t>(n), T{-7});
        x[static_cast<std::size_t>(place)] = T{-3};
        CHECK(loops.maximum(x.data(), n) == T{-3});
      }
    }
    const std::vector<T> hidden(20, -std::numeric_limits<T>::infinity());
    CHECK(loops.maximum(hidden.data(), 20) == -std::numeric_limits<T>::infinity());
  });
}

TEST_CASE("exp_shifted replaces a row and returns its sum") {
  for_all_loops([]<class T>(const Loops<T>& loops, double tolerance) {
    for (const Index n : kLengths) {
      std::vector<T> x = row<T>(n, 5, 4);
      std::vector<double> expected;
      double sum = 0;
      for (const T value : x) {
        expected.push_back(std::exp(static_cast<double>(value) - 4));
        sum += expected.back();
      }
      const T total = loops.exp_shifted(x.data(), T{4}, n);
      CHECK(static_cast<double>(total) == Approx(sum).epsilon(10 * tolerance).margin(1e-300));
      check_row(x, expected, tolerance);
    }
  });
}

TEST_CASE("softmax_backward multiplies probabilities by the gradient less the row's sum") {
  for_all_loops([]<class T>(const Loops<T>& loops, double tolerance) {
    const std::vector<T> p{T(0.5), T(0.25), T(0.25), T{0}};
    std::vector<T> s{T{1}, T{2}, T{-2}, T{9}};
    loops.softmax_backward(p.data(), s.data(), T(0.5), T{2}, 4);
    check_row(s, {0.5, 0.75, -1.25, 0}, tolerance);
  });
}

TEST_CASE("layer_norm normalises a row and returns its statistics") {
  for_all_loops([]<class T>(const Loops<T>& loops, double tolerance) {
    const std::vector<T> x{T{1}, T{2}, T{3}, T{6}};
    const std::vector<T> gain{T{1}, T{2}, T{1}, T{-1}};
    const std::vector<T> shift{T{0}, T{0}, T{10}, T{1}};
    std::vector<T> y(4);
    T mean{};
    T inverse{};
    loops.layer_norm.value(x.data(), gain.data(), shift.data(), y.data(), 4, T(0.5), &mean,
                           &inverse);
    CHECK(mean == T{3});  // the variance is (4 + 1 + 0 + 9) / 4 = 3.5, and 3.5 + 0.5 = 2^2
    CHECK(static_cast<double>(inverse) == Approx(0.5).epsilon(tolerance));
    check_row(y, {-1, -1, 10, -0.5}, tolerance);
  });
}

// Gradients of float64 are compared with PyTorch's (tests/parity).
TEST_CASE("layer_norm_backward gives the gradients of float64 for every length") {
  for_all_loops([]<class T>(const Loops<T>& loops, double tolerance) {
    for (const Index n : kLengths) {
      const auto given = [&](std::uint64_t stream) { return row<T>(n, stream); };
      const auto expected = layer_norm_gradients(
          kernels::loops<double>(), [&](std::uint64_t stream) { return wide(given(stream)); }, n);
      const auto grads = layer_norm_gradients(loops, given, n);
      for (std::size_t i = 0; i < 3 && n > 0; ++i) {
        check_row(grads[i], expected[i], tolerance);
      }
    }
  });
}

TEST_CASE("layer_norm keeps its precision when the mean is large") {
  auto x = counted<float>(64, [&](int i) { return 1000.0F + static_cast<float>(i % 2); });
  const std::vector<float> gain(64, 1);
  const std::vector<float> shift(64, 0);
  std::vector<float> y(64);
  float mean = 0;
  float inverse = 0;
  kernels::loops<float>().layer_norm.value(x.data(), gain.data(), shift.data(), y.data(), 64, 0,
                                           &mean, &inverse);
  CHECK(y[0] == Approx(-1).epsilon(1e-4));
  CHECK(y[1] == Approx(1).epsilon(1e-4));
}
