#include "cli/bench/tools.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/json.h"
#include "headlight/kernels/machine/machine.h"
#include "headlight/kernels/machine/memory.h"
#include "headlight/nn/architecture.h"
#include "headlight/tensor/random.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/openblas.h"
#include "kernels/machine/streams.h"
#include "ops/matrix.h"
#include "show/report/parts/numbers.h"

namespace headlight::cli {
namespace {

constexpr double kRateSeconds = 0.05;              // for each product
constexpr Index kStreamElements = Index{1} << 26;  // 256 MiB: more than any cache holds
constexpr std::uint64_t kMatrixSeed = 2718;

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) {
    return {};
  }
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

Json machine_json() {
  const kernels::BlasBuild blas = kernels::blas_build();
  const char* core = std::getenv("OPENBLAS_CORETYPE");
  return {{"cpu", cpu_name()},
          {"kernel_variant", cpu_variant_name()},
          {"threads", thread_count()},
          {"products_option", products_name()},
          {"products_by", products_description()},
          {"blas",
           {{"library", blas.library},
            {"version", blas.version},
            {"core", blas.core},
            {"threading", blas.threading},
            {"coretype_variable", core == nullptr ? "" : core}}}};
}

std::string machine_text() { return cpu_name() + ", " + machine_description(); }

GemmRates measure_gemm_rates(Precision precision) {
  constexpr std::array<std::array<Index, 3>, 3> kShapes{
      {{1024, 1024, 1024}, {2048, 1024, 512}, {768, 3072, 768}}};
  GemmRates rates;
  for (const auto& [m, n, k] : kShapes) {
    const Tensor a = random_uniform({m, k}, {kMatrixSeed, 1}, -1, 1);
    const Tensor b = random_uniform({k, n}, {kMatrixSeed, 2}, -1, 1);
    Tensor c = Tensor::empty({m, n});
    const kernels::Gemm<float> product = product_of<float>(
        matrix_of<float>(a), matrix_of<float>(b), matrix_of<float>(c), {.precision = precision});
    const double flops = 2 * static_cast<double>(m * n * k);
    const double own = best_seconds(kRateSeconds, [&] { kernels::gemm(product); });
    const double blas =
        best_seconds(kRateSeconds, [&] { kernels::gemm_with_threads_of_blas(product); });
    rates.own = std::max(rates.own, flops / own);
    rates.blas = std::max(rates.blas, flops / blas);
  }
  return rates;
}

double measure_read_rate() {
  constexpr double kBytes = 4.0 * static_cast<double>(kStreamElements);
  require_free_memory(kBytes, "measuring the memory bandwidth");
  const Tensor x = Tensor::zeros({kStreamElements});
  double sum = 0;
  const double seconds =
      best_seconds(0.2, [&] { sum += kernels::read_pass(x.data<float>(), x.numel()); });
  require(sum == 0, "[bench] reading zeros gave ", sum);
  return kBytes / seconds;
}

void require_free_memory(double bytes, const std::string& what) {
  const double available = available_memory();
  require(available == 0 || bytes <= available, what, " needs ", bytes_text(bytes), ", but ",
          bytes_text(available), " are free; choose smaller sizes");
}

std::string model_text(const GptConfig& config) {
  return concat_text(config.n_layer, " layers, ", config.n_head, " heads, width ", config.n_embd,
                     ", vocabulary ", config.vocab_size, ": ",
                     grouped(count_parameters(config).total()), " parameters");
}

}  // namespace headlight::cli
