#include "cli/bench/bench.h"
#include "cli/bench/tools.h"
#include "kernels/machine/streams.h"

namespace headlight::cli {
namespace {

constexpr Index kElements = Index{1} << 25;  // elements of each array; two arrays exceed any cache
constexpr double kArrayBytes = 4.0 * static_cast<double>(kElements);
constexpr double kPassSeconds = 0.2;  // for each measurement

}  // namespace

BenchReport bench_memory(const BenchTask&) {
  require_free_memory(2 * kArrayBytes, "measuring the memory bandwidth");
  const double read = measure_read_rate();
  const Tensor x = Tensor::zeros({kElements});
  Tensor y = Tensor::zeros({kElements});
  const double copy = 2 * kArrayBytes / best_seconds(kPassSeconds, [&] {
                        kernels::copy_pass(x.data<float>(), y.data<float>(), kElements);
                      });
  const double update = 3 * kArrayBytes / best_seconds(kPassSeconds, [&] {
                          kernels::update_pass(x.data<float>(), y.data<float>(), kElements);
                        });
  return {{{"read_gb_per_second", read / 1e9},
           {"copy_gb_per_second", copy / 1e9},
           {"triad_gb_per_second", update / 1e9}},
          fmt::format("read               {:>8.1f} GB/s\n", read / 1e9) +
              fmt::format("copy  y = x        {:>8.1f} GB/s\n", copy / 1e9) +
              fmt::format("triad y = y + 3 x  {:>8.1f} GB/s\n", update / 1e9)};
}

}  // namespace headlight::cli
