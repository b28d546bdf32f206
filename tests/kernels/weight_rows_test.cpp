#include "kernels/attention/weight_rows.h"
#include "support/test.h"

// Returns numbers that sum to 1, some of them 0.
std::vector<float> weights(Index count, std::uint64_t seed) {
  std::vector<double> values =
      random_uniform({count}, {seed, 1}, 0.0, 1.0, DType::float64).to_vector();
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 7 == 3 ? 0 : values[i] * values[i];
    sum += values[i];
  }
  return mapped<float>(values, [&](const double value) { return static_cast<float>(value / sum); });
}

double entropy_of(const std::vector<double>& row) {
  double entropy = 0;
  for (const double weight : row) {
    entropy -= weight > 0 ? weight * std::log(weight) : 0;
  }
  return entropy;
}

TEST_CASE("the statistics of a row of weights agree with their definitions") {
  for (const Index count : {1, 2, 7, 8, 9, 40, 321}) {
    const std::vector<float> row = weights(count, 5);
    std::vector<double> columns(row.begin(), row.end());
    const auto sums = kernels::weight_row_loops().sums(row.data(), count, row[0], columns.data());
    double weight = 0;
    double distance = 0;
    for (Index i = 0; i < count; ++i) {
      const auto w = static_cast<double>(row[static_cast<std::size_t>(i)]);
      weight += w;
      distance += w * static_cast<double>(count - 1 - i);
    }
    CHECK(sums.weight == Approx(weight).epsilon(1e-12));
    CHECK(sums.distance == Approx(distance).epsilon(1e-12));
    CHECK(sums.entropy == Approx(entropy_of({row.begin(), row.end()})).margin(1e-6));
    CHECK(sums.largest == std::ranges::max(row));
    CHECK(sums.below == std::ranges::count_if(row, [&](float w) { return w < row[0]; }));
    CHECK(columns == mapped<double>(row, [](float w) { return 2 * static_cast<double>(w); }));
  }
}

TEST_CASE("the entropy between two rows is the entropy of their mean") {
  for (const Index count : {1, 7, 8, 9, 321}) {
    const std::vector<float> a = weights(count, 5);
    const std::vector<float> b = weights(count, 6);
    const auto middle = counted<double>(a.size(), [&](std::size_t i) {
      return (static_cast<double>(a[i]) + static_cast<double>(b[i])) / 2;
    });
    CHECK(kernels::weight_row_loops().middle_entropy(a.data(), b.data(), count) ==
          Approx(entropy_of(middle)).margin(1e-6));
  }
}
