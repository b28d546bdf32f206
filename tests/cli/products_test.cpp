#include "support/products.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/openblas.h"
#include "support/test.h"

// `--products` with the real program.

namespace cli_products_test {
Arguments words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

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
  Arguments arguments = words(
      "train --lr_decay_iters 20 --warmup_iters 1 --eval_interval 6 --eval_iters 2 --n_layer 2 "
      "--n_head 2 --n_embd 64 --block_size 32 --batch_size 4 --products " +
      task.products + " --max_iters " + task.max_iters);
  for (const std::string& argument : {std::string("--data"), folder.write("text.txt", text),
                                      std::string("--out_dir"), folder.at(task.run)}) {
    arguments.push_back(argument);
  }
  return changed(std::move(arguments), task.more);
}

std::string messages_of(const Arguments& arguments) {
  const ProgramResult result = run_headlight(arguments);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  return result.err;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

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
  const std::string own = messages_of(training(folder, {.run = "own", .products = "own"}));
  CHECK(own.find("products by Headlight\n") != std::string::npos);
  const std::string blas = messages_of(training(folder, {.run = "blas", .products = "blas"}));
  CHECK(blas.find(blas_line()) != std::string::npos);
  messages_of(training(folder, {.run = "again", .products = "blas", .more = {"--threads", "2"}}));
  CHECK(weights_of(folder.at("blas")) == weights_of(folder.at("again")));
#if !defined(__aarch64__)  // there both add the products of these small matrices in one order
  CHECK(weights_of(folder.at("blas")) != weights_of(folder.at("own")));
#endif
  CHECK(loss_of(folder.at("blas")) == Approx(loss_of(folder.at("own"))).epsilon(1e-4));
  const auto state = nlohmann::json::parse(file_contents(folder.at("blas/latest/state.json")));
  CHECK(state["products"] == kernels::blas_description());
  const std::string resumed = messages_of(
      training(folder, {.run = "blas", .products = "own", .max_iters = "8", .more = {"--resume"}}));
  CHECK(resumed.find("--resume: the checkpoint was written with products by " +
                     kernels::blas_description() + ", now Headlight: rounding may differ") !=
        std::string::npos);
}

TEST_CASE("generation gives the same text with either library of matrix products", "[cli]") {
  const TemporaryFolder folder;
  messages_of(training(folder, {.run = "run", .max_iters = "20"}));
  const auto text_with = [&](const std::string& products) {
    return output_of({"generate", folder.at("run"), "--prompt", "line 12", "--temperature", "0",
                      "--max_new_tokens", "20", "--products", products});
  };
  CHECK(text_with("own") == text_with("blas"));
}

TEST_CASE("each library gives the same bits for any number of threads and results name it",
          "[cli]") {
  std::set<std::string> different;
  for (const char* products : {"own", "blas"}) {
    std::set<std::string> signatures;
    for (const char* threads : {"1", "2", "5"}) {
      const std::string line =
          output_of({"bench", "--signature", "--products", products, "--threads", threads});
      signatures.insert(first_word(line));
      CHECK(line.find(std::string(products) == "own" ? " headlight " : " OpenBLAS-") !=
            std::string::npos);
    }
    INFO(products);
    CHECK(signatures.size() == 1);
    different.insert(signatures.begin(), signatures.end());
  }
  CHECK(different.size() == 2);
}

TEST_CASE("info and bench name the library of matrix products", "[cli]") {
  const std::string config = std::string(HEADLIGHT_SOURCE_DIR) + "/configs/bench/cpu-char.toml";
  const std::string text = output_of({"info", config, "--products", "blas", "--threads", "1"});
  CHECK(text.find("computed with 1 thread, ") != std::string::npos);
  CHECK(text.find(blas_line()) != std::string::npos);
  const auto info = report_of({"info", config, "--products", "own"})["machine"];
  CHECK(info["products_option"] == "own");
  CHECK(info["products_by"] == "Headlight");
  Arguments bench = words("bench attention --lengths 8 --n_layer 1 --n_embd 16");
  CHECK(report_of(bench)["products_option"] == "auto");
  bench.push_back("--products=blas");
  const auto report = report_of(bench);
  CHECK(report["products_option"] == "blas");
  CHECK(report["products_by"] == kernels::blas_description());
}

TEST_CASE("an unknown library of products and products that BLAS lacks are refused", "[cli]") {
  const std::string config = std::string(HEADLIGHT_SOURCE_DIR) + "/configs/bench/cpu-char.toml";
  CHECK(refusal({"info", config, "--products", "mkl"}) ==
        "error: --products: expected own, blas or auto, got 'mkl'");
  if (!kernels::bfloat16_instructions().empty()) {
    check_refused({"train", "--data", config, "--dtype", "bfloat16", "--products", "blas"},
                  {"dtype: bfloat16 products are computed by Headlight's own tiles"});
  }
}

TEST_CASE("Headlight's products on a CPU without fast ones work with a warning", "[cli]") {
  const ProgramResult result =
      run_headlight(words("bench attention --lengths 8 --n_layer 1 --n_embd 16 --products own "
                          "--cpu_variant baseline"));
  CHECK(result.exit_code == 0);
#if defined(__aarch64__)  // every CPU has NEON
  CHECK(result.err.empty());
#else
  REQUIRE(result.messages().size() == 1);
  CHECK(result.err.find("own tiles are slow without AVX2") != std::string::npos);
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
    CHECK(result.err.find("OpenBLAS needs") != std::string::npos);
  }
}
}  // namespace cli_products_test
