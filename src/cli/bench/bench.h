#pragma once

#include <string>

#include "base/json.h"
#include "cli/terminal/options.h"
#include "headlight/train/train_config.h"

// What the kinds of `headlight bench` share.
namespace headlight::cli {

// The result of one measurement, for programs and for people.
struct BenchReport {
  Json json;
  std::string text;
};

// What is measured: the configuration as given, and how often.
struct BenchTask {
  TrainConfig config;
  const Options& options;
  Index steps = 20;
  Index warmup = 5;

  // The model, with the configuration's vocabulary.
  GptConfig model() const { return config.model(config.vocab_size); }
};

// An option that says how often something is done. Throws Error below `least` and for what nobody
// would wait for.
Index count_of(const Options& options, const std::string& name, Index least);

BenchReport bench_train(const BenchTask& task);
BenchReport bench_generate(const BenchTask& task);
BenchReport bench_gemm(const BenchTask& task);
BenchReport bench_memory(const BenchTask& task);
BenchReport bench_attention(const BenchTask& task);

// The hash of everything that a short, fixed run computes: training packed and padded, texts,
// attention weights. The same for every number of threads. The text is a line of
// tests/parity/signatures.txt: the hash and what else it depends on.
BenchReport bench_signature();

}  // namespace headlight::cli
