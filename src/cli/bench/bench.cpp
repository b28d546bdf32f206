#include "cli/bench/bench.h"

#include <array>
#include <iostream>

#include "base/transformed.h"
#include "cli/bench/tools.h"
#include "cli/commands.h"
#include "cli/option_groups/config_options.h"
#include "cli/option_groups/decoding_options.h"
#include "cli/terminal/log.h"
#include "headlight/generate/weights.h"
#include "headlight/kernels/machine/machine.h"
#include "headlight/kernels/machine/memory.h"
#include "show/report/parts/json_output.h"

namespace headlight::cli {
namespace {

constexpr const char* kBenchDetails =
    "Measures the speed of (default: train):\n"
    "  train      training steps on random tokens: tokens/s, time per step and its phases,\n"
    "             FLOPs, share of the machine's matrix product rate (MFU), memory\n"
    "  generate   greedy decoding with the key/value cache, one token at a time\n"
    "  gemm       every matrix product of a training step\n"
    "  memory     memory bandwidth of all threads together\n"
    "  attention  attention of one layer, and the whole model with and without recorded\n"
    "             attention weights\n\n"
    "The model comes from --config and the options, with random weights and the vocabulary of "
    "the key vocab_size. No data file is read. The default is the model of "
    "configs/bench/cpu-char.toml. With --batching padded or bucketed, sequences have 1 to "
    "block_size tokens, with equal probability, and only real tokens count. Numbers are "
    "medians unless stated otherwise; gemm, memory and attention give the fastest of several "
    "runs.\n\n"
    "--signature measures nothing. It runs a short, fixed training, generation and attention, "
    "and prints one hash of all their bits. The hash is the same for any number of threads. It "
    "depends on kernel variant, compiler, product library and C library, which are printed too.\n\n"
    "JSON keys of every measurement: kind, cpu, kernel_variant, threads, products_option "
    "(--products), products_by, blas{library, version, core, threading, coretype_variable "
    "(OPENBLAS_CORETYPE)}, peak_rss_mib. Other keys:\n"
    "  train      tokens_per_second, ms_per_step, ms_per_step_min, ms_per_step_max,\n"
    "             phases{data_ms, forward_ms, backward_ms, optimizer_ms}, tokens_per_step,\n"
    "             flops_per_step, flops_per_second, mfu, gemm_flops_per_second,\n"
    "             blas_flops_per_second, live_mib, cached_mib, system_allocations_per_step,\n"
    "             loss, steps; unless packed also sequence_lengths, of every timed step; with\n"
    "             --cores also cores[{cores, barriers, serial_ms, loops_ms, barriers_ms, step_ms,\n"
    "             speedup, bytes, gb_per_second}], with --phases also roofline[{phase, ms, share,\n"
    "             flops, bytes, gflops_per_second, gb_per_second, bound, bound_ms}]\n"
    "  generate   ms_per_token, ms_per_token_min, ms_per_token_max, tokens_per_second,\n"
    "             ms_to_first_token, prompt_tokens, prompt_flops_per_second, prompt_mfu,\n"
    "             new_tokens, bytes_per_token, cache_bytes_per_token, cache_type,\n"
    "             read_gb_per_second, bandwidth_share\n"
    "  gemm       products[{layer, pass, m, n, k, ms, gflops_per_second, count}], step_ms,\n"
    "             step_gflops_per_second, gemm_flops_per_second, blas_flops_per_second\n"
    "  memory     read_gb_per_second, copy_gb_per_second, triad_gb_per_second\n"
    "  attention  rows[{length, forward_ms, backward_ms, recorded_ms, recorded_ratio,\n"
    "             model_ms, model_recorded_ms, model_recorded_ratio}]\n"
    "  signature  signature, parts{packed, padded, generation, attention}, compiler,\n"
    "             products, libc";

struct Kind {
  std::string_view name;
  BenchReport (*run)(const BenchTask& task);
};

constexpr std::array kKinds{Kind{"train", bench_train}, Kind{"generate", bench_generate},
                            Kind{"gemm", bench_gemm}, Kind{"memory", bench_memory},
                            Kind{"attention", bench_attention}};

// nanoGPT's character model for a CPU, as in configs/bench/cpu-char.toml.
TrainConfig default_config() {
  TrainConfig config;
  config.vocab_size = 65;
  config.gpt.n_layer = 4;
  config.gpt.n_head = 4;
  config.gpt.n_embd = 128;
  config.gpt.block_size = 64;
  config.batch_size = 12;
  config.learning_rate = 1e-3;
  config.beta2 = 0.99;
  config.warmup_iters = 100;
  return config;
}

Options bench_options() {
  const auto kinds = transformed(kKinds, [](const Kind& kind) { return std::string(kind.name); });
  Options options({.name = "bench",
                   .summary = "Measure the speed of training, generation and their parts.",
                   .positional = "[train|generate|gemm|memory|attention]",
                   .details = kBenchDetails,
                   .examples = {"headlight bench",
                                "headlight bench train --config "
                                "configs/bench/gpt2-256.toml --steps 10",
                                "headlight bench train --cores 8,16,64",
                                "headlight bench train --phases --dtype bfloat16",
                                "headlight bench generate --model runs/toy",
                                "headlight bench attention --lengths 64,256,1024 --json",
                                "headlight bench --signature --cpu_variant v3"},
                   .positional_choices = kinds});
  options.value("config", "Read the configuration from this TOML file")
      .value("steps", "train: time this number of steps", "20")
      .value("warmup", "train: first run this number of steps without timing", "5")
      .value("cores",
             "train: predict steps of machines with these numbers of cores, e.g. 8,16,64, from the "
             "times of loops on one core")
      .flag("phases", "train: show where the time of a step goes, and what limits each part")
      .value("model", "generate: use this model instead of random weights");
  add_precision_options(options, "generate: precision");
  options.value("prompt_tokens", "generate: length of the prompt in tokens", "16")
      .value("new_tokens", "generate: generate this number of tokens", "48")
      .value("rounds", "generate: repeat the generation this number of times", "3")
      .value(
          "lengths",
          "attention: sequence lengths, e.g. 64,256 (default: doubled each time up to block_size)")
      .flag("signature", "Print a hash of the bits that this build computes");
  add_config_options(options, default_config(), true);
  options.paths({"config", "model"})
      .basic({"config", "steps", "model", "weights", "new_tokens", "lengths", "signature"});
  return options;
}

TrainConfig read_config(const Options& options) {
  TrainConfig config = default_config();
  if (options.given("config")) {
    config = {};
    set_from_file(config, options.text("config"));
  }
  set_from_options(config, options);
  if (config.batching != "packed") {
    config.documents = "line";  // the random sequences are documents
  }
  config.validate();
  require(config.vocab_size >= 1,
          "vocab_size: needed, because bench reads no data; set it in the configuration or by "
          "--vocab_size");
  return config;
}

const Kind& chosen_kind(const Options& options) {
  const std::string name = options.positionals().empty() ? "train" : options.positional();
  const auto* kind = std::ranges::find(kKinds, name, &Kind::name);
  require(kind != kKinds.end(), "bench: expected train, generate, gemm, memory or attention, got '",
          name, "'");
  return *kind;
}

BenchReport measure(const Kind& kind, const Options& options) {
  const BenchTask task{.config = read_config(options),
                       .options = options,
                       .steps = count_option(options, "steps", 1, kMostRepeats),
                       .warmup = count_option(options, "warmup", 0, kMostRepeats)};
  if (!machine_warning().empty()) {
    log_warning(machine_warning());
  }
  BenchReport report = kind.run(task);
  report.text = machine_text() + "\n" + report.text;
  return report;
}

void print(std::string_view kind, const BenchReport& report, bool as_json) {
  if (!as_json) {
    std::cout << report.text;
    return;
  }
  Json json{{"kind", kind}};
  json.update(machine_json());
  json["peak_rss_mib"] = peak_memory() / kMebibyte;
  json.update(report.json);
  print_json(json);
}

void bench_command(const Options& options) {
  if (options.given("signature")) {
    require(options.positionals().empty(),
            "bench: --signature measures nothing; leave out --signature or the kind");
    print("signature", bench_signature(), options.json());
  } else {
    const Kind& kind = chosen_kind(options);
    print(kind.name, in_place(kSettings, [&] { return measure(kind, options); }), options.json());
  }
}

}  // namespace

int run_bench(const Words& words) { return run(bench_options(), words, bench_command); }

}  // namespace headlight::cli
