#include "support/products.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/openblas.h"
#include "support/test.h"

// `--products` with the real program.

namespace cli_products_test {

struct Training {
  std::string run;
  std::string products = "auto";
  std::string max_iters = "6";
  Arguments more = {};
};

Arguments training(const TemporaryFolder& folder, const Training& task) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += "line " + std::to_string(i * 7919 % 1000) + " of a small text\n";
  }
  return changed(
      words("train --lr_decay_iters 20 --warmup_iters 1 --eval_interval 6 --eval_iters 2 "
            "--n_layer 2 --n_head 2 --n_embd 64 --block_size 32 --batch_size 4 --products",
            task.products, "--max_iters", task.max_iters, "--data", folder.write("text.txt", text),
            "--out_dir", folder.at(task.run)),
      task.more);
}

// Last training loss of a run.
double loss_of(const std::string& run) {
  double loss = NAN;
  for (const auto& line : metrics_of(run)) {
    loss = line.contains("loss") ? line["loss"].get<double>() : loss;
  }
  return loss;
}

std::string blas_line() { return "products by " + kernels::blas_description() + "\n"; }

TEST_CASE("the run and its checkpoint and its log name the library of matrix products", "[cli]") {
  const TemporaryFolder folder;
  const std::string own = log_of(training(folder, {.run = "own", .products = "own"}));
  CHECK(contains(own, "products by Headlight\n"));
  const std::string blas = log_of(training(folder, {.run = "blas", .products = "blas"}));
  CHECK(contains(blas, blas_line()));
  log_of(training(folder, {.run = "again", .products = "blas", .more = {"--threads", "2"}}));
  CHECK(weights_of(folder.at("blas")) == weights_of(folder.at("again")));
  CHECK(loss_of(folder.at("blas")) == Approx(loss_of(folder.at("own"))).epsilon(1e-4));
  const auto state = json::parse(file_contents(folder.at("blas/latest/state.json")));
  CHECK(state["products"] == kernels::blas_description());
  const std::string resumed = log_of(
      training(folder, {.run = "blas", .products = "own", .max_iters = "8", .more = {"--resume"}}));
  CHECK(contains(resumed, "--resume: the checkpoint was written with products by " +
                              kernels::blas_description() +
                              ", now Headlight: rounding may differ"));
}

TEST_CASE("info and bench name the library of matrix products", "[cli]") {
  const std::string config = std::string(HEADLIGHT_SOURCE_DIR) + "/configs/bench/cpu-char.toml";
  const std::string text = output_of({"info", config, "--products", "blas", "--threads", "1"});
  check_parts(text, {"computed with 1 thread, ", blas_line()});
  const auto info = report_of({"info", config, "--products", "own"})["machine"];
  check_json(info, R"({"products_option": "own", "products_by": "Headlight"})");
  Arguments bench = words("bench attention --lengths 8 --n_layer 1 --n_embd 16");
  CHECK(report_of(bench)["products_option"] == "auto");
  bench.push_back("--products=blas");
  const auto report = report_of(bench);
  CHECK(report["products_option"] == "blas");
  CHECK(report["products_by"] == kernels::blas_description());
}

TEST_CASE("products that BLAS lacks are refused", "[cli]") {
  const std::string config = std::string(HEADLIGHT_SOURCE_DIR) + "/configs/bench/cpu-char.toml";
  if (!kernels::bfloat16_instructions().empty()) {
    check_refused(words("train --data", config, "--dtype bfloat16 --products blas"),
                  {"dtype: bfloat16 products are computed by Headlight's own tiles"});
  }
}

TEST_CASE("Headlight's products on a CPU without fast ones work with a warning", "[cli]") {
  const std::string log =
      log_of(words("bench attention --lengths 8 --n_layer 1 --n_embd 16 --products own "
                   "--cpu_variant baseline"));
#if defined(__aarch64__)  // every CPU has NEON
  CHECK(log.empty());
#else
  CHECK(contains(log, "own tiles are slow without AVX2"));
  CHECK(log.find('\n') == log.size() - 1);
#endif
}

TEST_CASE("only commands that multiply with OpenBLAS need its memory", "[cli]") {
  constexpr long kLittle = 150 * 1000;  // KB: less than OpenBLAS takes for one thread
  CHECK(run_headlight_within(kLittle, {"--help"}).exit_code == 0);
  const ProgramResult result = run_headlight_within(
      kLittle, words("bench attention --lengths 8 --n_layer 1 --n_embd 16 --products blas"));
  if (!has_sanitizer()) {
    CHECK(result.exit_code == 1);
    CHECK(result.messages().size() == 1);
    CHECK(contains(result.err, "OpenBLAS needs"));
  }
}
}  // namespace cli_products_test
