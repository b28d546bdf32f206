#include "base/share.h"
#include "cli/bench/bench.h"
#include "cli/bench/tools.h"
#include "cli/terminal/progress.h"
#include "headlight/nn/architecture.h"
#include "headlight/tensor/random.h"
#include "ops/matrix.h"

namespace headlight::cli {
namespace {

constexpr double kProductSeconds = 0.05;  // for each product

// Matrix product of a training step: C [m, n] = op(A) [m, k] op(B) [k, n].
struct Product {
  std::string layer;  // "attn.c_attn"
  const char* pass;   // "forward", "input gradient" or "weight gradient"
  Index m, n, k;
  Transposed transposed;  // the operand that is stored transposed
  Index count;            // of these products in a step
};

// Adds the three products of a linear layer with `weight` [outputs, inputs].
void add_linear(std::vector<Product>& products, const std::string& name, Index rows,
                const Shape& weight, Index count) {
  const Index outputs = weight[0];
  const Index inputs = weight[1];
  products.push_back({name, "forward", rows, outputs, inputs, Transposed::second, count});
  products.push_back({name, "input gradient", rows, inputs, outputs, Transposed::none, count});
  products.push_back({name, "weight gradient", outputs, inputs, rows, Transposed::first, count});
}

std::vector<Product> products_of(const BenchTask& task) {
  const GptConfig model = task.model();
  const Index rows = task.config.batch_size * task.config.gpt.block_size;
  std::vector<Product> products;
  for (const Weight& weight : weights_of(model)) {
    const bool is_head = weight.layer == kNoLayer;
    if (weight.multiplied && (is_head || weight.layer == 0)) {
      add_linear(products, is_head ? "head" : part_name(weight.part), rows, weight.shape,
                 is_head ? 1 : model.n_layer);
    }
  }
  return products;
}

double seconds_of(const Product& p) {
  const auto bytes_of = [](Index rows, Index columns) {
    return 4 * static_cast<double>(rows) * static_cast<double>(columns);
  };
  require_free_memory(bytes_of(p.m, p.k) + bytes_of(p.k, p.n) + bytes_of(p.m, p.n), p.layer);
  const bool first = p.transposed == Transposed::first;
  const bool second = p.transposed == Transposed::second;
  const Tensor a = random_uniform(first ? Shape{p.k, p.m} : Shape{p.m, p.k}, {1, 1}, -1, 1);
  const Tensor b = random_uniform(second ? Shape{p.n, p.k} : Shape{p.k, p.n}, {1, 2}, -1, 1);
  Tensor c = Tensor::empty({p.m, p.n});
  const auto product = product_of<float>(matrix_of<float>(a), matrix_of<float>(b),
                                         matrix_of<float>(c), {p.transposed});
  return best_seconds(kProductSeconds, [&] { kernels::gemm(product); });
}

double flops_of(const Product& p) {
  return 2 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
}

void add_row(BenchReport& report, const Product& p, double seconds) {
  const double rate = flops_of(p) / seconds / 1e9;
  report.json["products"].push_back({{"layer", p.layer},
                                     {"pass", p.pass},
                                     {"m", p.m},
                                     {"n", p.n},
                                     {"k", p.k},
                                     {"ms", 1e3 * seconds},
                                     {"gflops_per_second", rate},
                                     {"count", p.count}});
  report.text += fmt::format("{:<12} {:<16} {:>7} {:>7} {:>7} {:>10.3f} {:>9.1f} {:>6}\n", p.layer,
                             p.pass, p.m, p.n, p.k, 1e3 * seconds, rate, p.count);
}

}  // namespace

BenchReport bench_gemm(const BenchTask& task) {
  BenchReport report;
  report.text = model_text(task.model()) + "\n\n" +
                fmt::format("{:<12} {:<16} {:>7} {:>7} {:>7} {:>10} {:>9} {:>6}\n", "layer", "pass",
                            "m", "n", "k", "ms", "GFLOP/s", "times");
  double step_seconds = 0;
  double step_flops = 0;
  const std::vector<Product> products = products_of(task);
  const auto progress = progress_bar("products");
  Index done = 0;
  for (const Product& product : products) {
    progress(share_of(done++, std::ssize(products)));
    const double seconds = seconds_of(product);
    add_row(report, product, seconds);
    step_seconds += static_cast<double>(product.count) * seconds;
    step_flops += static_cast<double>(product.count) * flops_of(product);
  }
  const GemmRates rates = measure_gemm_rates();
  report.json["step_ms"] = 1e3 * step_seconds;
  report.json["step_gflops_per_second"] = step_flops / step_seconds / 1e9;
  report.json["gemm_flops_per_second"] = rates.own;
  report.json["blas_flops_per_second"] = rates.blas;
  report.text += fmt::format("\nall products of a step: {:.2f} ms, {:.1f} GFLOP/s\n",
                             1e3 * step_seconds, step_flops / step_seconds / 1e9);
  report.text +=
      fmt::format("large products: {:.1f} GFLOP/s (BLAS with threads of its own: {:.1f})\n",
                  rates.own / 1e9, rates.blas / 1e9);
  return report;
}

}  // namespace headlight::cli
