#include "support/products.h"
#include "kernels/gemm/gemm.h"
#include "support/test.h"

// `--products`, as far as it depends on the machine. sessions/products.txt has the rest.

TEST_CASE("products that BLAS lacks are refused") {
  const std::string config = std::string(HEADLIGHT_SOURCE_DIR) + "/configs/bench/cpu-char.toml";
  if (!kernels::bfloat16_instructions().empty()) {
    check_refused(words("train --data", config, "--dtype bfloat16 --products blas"),
                  {"dtype: bfloat16 products are computed by Headlight's own tiles"});
  }
}

TEST_CASE("Headlight's products on a CPU without fast ones work with a warning") {
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

TEST_CASE("only commands that multiply with OpenBLAS need its memory") {
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
