#include "headlight/ops/attention.h"
#include "base/share.h"
#include "cli/bench/bench.h"
#include "cli/bench/tools.h"
#include "cli/terminal/progress.h"
#include "headlight/autograd/autograd.h"
#include "headlight/nn/architecture.h"
#include "headlight/nn/recorder.h"

namespace headlight::cli {
namespace {

constexpr double kAttentionSeconds = 0.1;  // of each measurement

// Times in milliseconds for sequences of one length.
struct AttentionRow {
  Index length = 0;
  double forward = 0;  // one layer's attention between its two projections
  double backward = 0;
  double recorded = 0;        // forward that also records the weights
  double model = 0;           // forward pass of the whole model
  double model_recorded = 0;  // the same, recording the weights of all layers
};

std::vector<Index> lengths_of(const BenchTask& task) {
  std::vector<Index> lengths = task.options.integers("lengths");
  if (!task.options.given("lengths")) {
    for (Index length = 64; length < task.config.gpt.block_size; length *= 2) {
      lengths.push_back(length);
    }
    lengths.push_back(task.config.gpt.block_size);
  }
  require(!lengths.empty(), "--lengths: expected numbers like 64,256, got none");
  for (const Index length : lengths) {
    require(length >= 1 && length <= Index{1} << 20, "--lengths: expected 1 to ", Index{1} << 20,
            ", got ", length);
  }
  return lengths;
}

void measure_op(const GptConfig& model, Precision precision, AttentionRow& row) {
  const Index inner = model.n_head * (model.n_embd / model.n_head);
  const std::vector<Index> offsets{0, row.length};
  const Tensor qkv = random_normal({row.length, 3 * inner}, {1, 1});
  const Tensor gradient = random_normal({row.length, inner}, {1, 2});
  const auto attend = [&](const Tensor& x, std::vector<Tensor>* weights) {
    return ragged_attention(
        x, {.heads = model.n_head, .offsets = offsets, .weights = weights, .precision = precision});
  };
  const auto [plain, recorded] = best_seconds_in_turn(
      kAttentionSeconds, [&] { attend(qkv, nullptr); },
      [&] {
        std::vector<Tensor> weights;
        attend(qkv, &weights);
      });
  row.forward = 1e3 * plain;
  row.recorded = 1e3 * recorded;
  Tensor leaf = qkv.clone().set_requires_grad();
  const Tensor output = attend(leaf, nullptr);
  row.backward = 1e3 * best_seconds(kAttentionSeconds, [&] {
                   leaf.zero_grad();
                   backward(output, {.gradient = gradient, .retain_graph = true});
                 });
}

void measure_model(const Gpt& model, Precision precision, AttentionRow& row) {
  const NoGrad no_grad;
  const Batch batch = make_batch({random_tokens(row.length, model.config().vocab_size, 1)});
  const auto [plain, recorded] = best_seconds_in_turn(
      kAttentionSeconds, [&] { model.logits(batch, {.precision = precision}); },
      [&] {
        Recorder recorder;
        model.logits(batch, {.recorder = &recorder, .precision = precision});
      });
  row.model = 1e3 * plain;
  row.model_recorded = 1e3 * recorded;
}

// Model with the longest sequence as context length. Throws Error if its maps do not fit in memory.
GptConfig model_for(const BenchTask& task, Index longest) {
  GptConfig config = task.model();
  config.block_size = longest;
  const auto t = static_cast<double>(longest);
  const double maps = 4 * t * t * static_cast<double>(config.n_layer * config.n_head);
  const double logits = 4 * t * static_cast<double>(config.vocab_size);
  require_free_memory(maps + logits + 4 * static_cast<double>(count_parameters(config).total()),
                      "recording sequences of " + std::to_string(longest));
  return config;
}

}  // namespace

BenchReport bench_attention(const BenchTask& task) {
  const std::vector<Index> lengths = lengths_of(task);
  const GptConfig config = model_for(task, *std::ranges::max_element(lengths));
  const Gpt model(config, static_cast<std::uint64_t>(task.config.seed));
  const Precision precision = parse_name<Precision>("dtype", task.config.dtype);
  BenchReport report;
  report.text =
      model_text(config) + "\n\n" +
      fmt::format("{:>7} | {:<41} | {:<30}\n", "", "attention of one layer, ms",
                  "forward of the whole model, ms") +
      fmt::format("{:>7} | {:>10} {:>10} {:>10} {:>8} | {:>10} {:>10} {:>8}\n", "T", "forward",
                  "backward", "recorded", "ratio", "plain", "recorded", "ratio");
  const auto progress = progress_bar("attention");
  Index done = 0;
  for (const Index length : lengths) {
    progress(share_of(done++, std::ssize(lengths)));
    AttentionRow row{.length = length};
    measure_op(config, precision, row);
    measure_model(model, precision, row);
    report.json["rows"].push_back({{"length", row.length},
                                   {"forward_ms", row.forward},
                                   {"backward_ms", row.backward},
                                   {"recorded_ms", row.recorded},
                                   {"recorded_ratio", row.recorded / row.forward},
                                   {"model_ms", row.model},
                                   {"model_recorded_ms", row.model_recorded},
                                   {"model_recorded_ratio", row.model_recorded / row.model}});
    report.text += fmt::format(
        "{:>7} | {:>10.3f} {:>10.3f} {:>10.3f} {:>8.2f} | {:>10.2f} {:>10.2f} {:>8.2f}\n", length,
        row.forward, row.backward, row.recorded, row.recorded / row.forward, row.model,
        row.model_recorded, row.model_recorded / row.model);
  }
  return report;
}

}  // namespace headlight::cli
