#include "base/share.h"
#include "cli/bench/bench.h"
#include "cli/bench/tools.h"
#include "cli/option_groups/decoding_options.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/log.h"
#include "cli/terminal/progress.h"
#include "headlight/formats/model_directory.h"
#include "headlight/generate/decoder.h"
#include "headlight/generate/sampler.h"
#include "headlight/kernels/machine/memory.h"
#include "nn/packed/packed_weight.h"

namespace headlight::cli {
namespace {

struct Lengths {
  Index prompt = 0;
  Index output = 0;
};

Lengths lengths_of(const Options& options, Index block) {
  const Lengths lengths{count_option(options, "prompt_tokens", 1),
                        count_option(options, "new_tokens", 2)};
  require(lengths.prompt < block && lengths.output <= block - lengths.prompt,
          "--new_tokens: expected prompt and output of at most the context length, ", block,
          ", got ", lengths.prompt, " and ", lengths.output);
  return lengths;
}

std::unique_ptr<Gpt> model_of(const BenchTask& task, MatrixForm form) {
  if (task.options.given("model")) {
    const std::string model = task.options.text("model");
    return load_weights(model, {.base = base_option(task.options, model),
                                .matrices = form,
                                .warn = log_warning,
                                .progress = loading_bar()});
  }
  require_free_memory(4 * static_cast<double>(count_parameters(task.model()).total()),
                      "this model");
  return std::make_unique<Gpt>(task.model(), static_cast<std::uint64_t>(task.config.seed));
}

// Seconds for each token. The first includes reading the prompt.
std::vector<double> time_tokens(Decoder& decoder, const Lengths& lengths) {
  Sampler greedy({.temperature = 0});
  KeyValueCache cache = decoder.make_cache();
  const Index vocabulary = decoder.model().vocab_size();
  std::vector<double> seconds;
  std::int32_t token = 0;
  for (Index i = 0; i < lengths.output; ++i) {
    const Stopwatch watch;
    if (i == 0) {
      decoder.read(random_tokens(lengths.prompt, vocabulary, 0), cache);
    } else {
      const DecodeItem item{token, &cache};
      decoder.step({&item, 1});
    }
    token = greedy.next(decoder.logits(0), {});
    seconds.push_back(watch.seconds());
  }
  return seconds;
}

// Bytes of weights that each new token reads. Looked-up embeddings count 0: a token reads one row.
double bytes_read(const Gpt& model, WeightFormat format) {
  double bytes = 0;
  for (const Weight& weight : weights_of(model.config())) {
    const bool is_looked_up = weight.part == Part::token_embedding && !weight.multiplied;
    if (const PackedMatrix* panels = is_looked_up ? nullptr : packed_matrix(model, weight)) {
      bytes += static_cast<double>(weight.is_bias ? 4 * weight.shape[0] : panels->bytes());
    } else if (weight.part != Part::position_embedding && !is_looked_up) {
      bytes +=
          (weight.multiplied ? weight_bytes(format) : 4) * static_cast<double>(numel(weight.shape));
    }
  }
  return bytes;
}

// Bytes of keys and values that the token in the middle of the output reads, its own included.
double cache_bytes_read(const GptConfig& config, CacheType type, const Lengths& lengths) {
  return context_bytes(config, type, lengths.prompt + lengths.output / 2);
}

// Floating-point operations of reading a prompt: one third of a training step. The output head runs
// at the last position only.
double prompt_flops(const GptConfig& config, Index tokens) {
  const double head = 6.0 * static_cast<double>(config.n_embd * config.vocab_size);
  return (training_flops(config, {0, tokens}) - head * static_cast<double>(tokens - 1)) / 3;
}

// Milliseconds of a token after the first, and of the first.
std::pair<Spread, Spread> measure(Decoder& decoder, const Lengths& lengths, Index rounds) {
  std::vector<double> tokens;
  std::vector<double> first;
  const auto progress = progress_bar("generating");
  time_tokens(decoder, lengths);  // warm-up
  for (Index round = 0; round < rounds; ++round) {
    progress(share_of(round + 1, rounds + 1));
    const std::vector<double> seconds = time_tokens(decoder, lengths);
    first.push_back(1e3 * seconds.front());
    for (std::size_t i = 1; i < seconds.size(); ++i) {
      tokens.push_back(1e3 * seconds[i]);
    }
  }
  return {spread_of(tokens), spread_of(first)};
}

}  // namespace

BenchReport bench_generate(const BenchTask& task) {
  const Decoding decoding(task.options);
  const MatrixForm form = decoding.matrices();
  const std::unique_ptr<Gpt> model = model_of(task, form);
  const Lengths lengths = lengths_of(task.options, model->config().block_size);
  Decoder decoder = decoding.decoder(*model, format_of(form));
  const auto [token_ms, first_ms] =
      measure(decoder, lengths, count_option(task.options, "rounds", 1, kMostRepeats));
  const double peak = peak_memory();  // before the bandwidth measurement, which needs memory too
  const double bytes = bytes_read(*model, format_of(form));
  const CacheType cache_type = decoding.cache_type(*model, format_of(form));
  const double cache_bytes = cache_bytes_read(model->config(), cache_type, lengths);
  const double limit = measure_read_rate();
  const double share = (bytes + cache_bytes) / (token_ms.median / 1e3) / limit;
  const double prompt_rate =
      prompt_flops(model->config(), lengths.prompt) / (first_ms.median / 1e3);
  const double prompt_share = prompt_rate / measure_gemm_rates().own;
  BenchReport report;
  report.json = {{"weights", name_of(form)},
                 {"cache_type", name_of(cache_type)},
                 {"ms_per_token", token_ms.median},
                 {"ms_per_token_min", token_ms.min},
                 {"ms_per_token_max", token_ms.max},
                 {"tokens_per_second", 1e3 / token_ms.median},
                 {"ms_to_first_token", first_ms.median},
                 {"prompt_tokens", lengths.prompt},
                 {"prompt_flops_per_second", prompt_rate},
                 {"prompt_mfu", prompt_share},
                 {"new_tokens", lengths.output},
                 {"bytes_per_token", bytes},
                 {"cache_bytes_per_token", cache_bytes},
                 {"read_gb_per_second", limit / 1e9},
                 {"bandwidth_share", share},
                 {"peak_rss_mib", peak / kMebibyte}};
  report.text =
      model_text(model->config()) + "\n" +
      fmt::format("\n{:.1f} tokens/s: {:.3f} ms a token, the median ({:.3f} to {:.3f})\n",
                  1e3 / token_ms.median, token_ms.median, token_ms.min, token_ms.max) +
      fmt::format(
          "first token after {:.2f} ms, with a prompt of {}: {:.0f} GFLOP/s, {:.0f} % of large "
          "products\n",
          first_ms.median, lengths.prompt, prompt_rate / 1e9, 100 * prompt_share) +
      fmt::format(
          "{:.1f} MB of weights and {:.1f} MB of keys and values ({}) a token: {:.0f} % of the "
          "memory bandwidth ({:.1f} GB/s)\n",
          bytes / 1e6, cache_bytes / 1e6, name_of(cache_type), 100 * share, limit / 1e9);
  return report;
}

}  // namespace headlight::cli
