#pragma once

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/stopwatch.h"
#include "cli/bench/random_data.h"
#include "headlight/datasets/dataset.h"
#include "headlight/kernels/precision.h"
#include "headlight/nn/gpt.h"
#include "headlight/tensor/random.h"

// Helpers of `headlight bench` for timing, samples and output.
namespace headlight::cli {

constexpr double kMebibyte = 1 << 20;

// Distribution of repeated measurements. The median and the minimum show the speed. The distance to
// the maximum shows disturbances.
struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

// Returns zeros for no values.
Spread spread_of(std::vector<double> values);

// Returns the time of the fastest call, in seconds. Makes one warm-up call, then at least three
// calls and as many as fit into `budget` seconds.
template <class Body>
double best_seconds(double budget, const Body& body) {
  body();
  const Stopwatch total;
  double best = 0;
  for (int run = 0; run < 3 || total.seconds() < budget; ++run) {
    const Stopwatch one;
    body();
    const double seconds = one.seconds();
    best = run == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

// best_seconds() of two bodies that alternate, so that machine disturbances affect both.
template <class First, class Second>
std::pair<double, double> best_seconds_in_turn(double budget, const First& first,
                                               const Second& second) {
  std::pair<double, double> best{std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::infinity()};
  best_seconds(2 * budget, [&] {
    const Stopwatch one;
    first();
    best.first = std::min(best.first, one.seconds());
    const Stopwatch two;
    second();
    best.second = std::min(best.second, two.seconds());
  });
  return best;
}

// CPU, instruction set, threads and BLAS. All measurements depend on them.
Json machine_json();
std::string machine_text();

// Floating-point operations a second of large products, the best of a few shapes.
struct GemmRates {
  double own = 0;   // kernels::gemm
  double blas = 0;  // BLAS with its own threads, float32
};
GemmRates measure_gemm_rates(Precision precision = Precision::float32);

// Memory read bandwidth of all threads together, in bytes a second.
double measure_read_rate();

// Throws Error, naming the purpose, if `bytes` exceed the free memory.
void require_free_memory(double bytes, const std::string& what);

// "4 layers, 4 heads, width 128, vocabulary 65".
std::string model_text(const GptConfig& config);

}  // namespace headlight::cli
