#pragma once

#include <string>

#include "base/json.h"
#include "cli/terminal/options.h"
#include "headlight/train/train_config.h"

// Shared parts of the measurements of `headlight bench`.
namespace headlight::cli {

struct BenchReport {
  Json json;
  std::string text;
};

struct BenchTask {
  TrainConfig config;
  const Options& options;
  Index steps = 20;
  Index warmup = 5;

  GptConfig model() const { return config.model(config.vocab_size); }
};

// Largest value of an option that counts repetitions.
inline constexpr Index kMostRepeats = 100'000;

BenchReport bench_train(const BenchTask& task);
BenchReport bench_generate(const BenchTask& task);
BenchReport bench_gemm(const BenchTask& task);
BenchReport bench_memory(const BenchTask& task);
BenchReport bench_attention(const BenchTask& task);

// Hash of all results of a short, fixed run: packed and padded training, texts, attention weights.
// It does not depend on the number of threads. The text is a line of tests/parity/signatures.txt:
// the hash and its other dependencies.
BenchReport bench_signature();

}  // namespace headlight::cli
