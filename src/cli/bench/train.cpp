#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/share.h"
#include "base/transformed.h"
#include "cli/bench/bench.h"
#include "cli/bench/roofline.h"
#include "cli/bench/tools.h"
#include "cli/terminal/launched.h"
#include "cli/terminal/progress.h"
#include "headlight/kernels/machine/memory.h"
#include "headlight/nn/architecture.h"
#include "headlight/train/trainer.h"
#include "kernels/machine/simulated_cores.h"
#include "show/report/parts/numbers.h"
#include "tensor/tensor_bytes.h"

namespace headlight::cli {
namespace {

// A predicted step on a machine with more cores, in seconds.
struct CoreTimes {
  Index cores = 0;
  Index barriers = 0;
  double alone = 0;    // of one core
  double serial = 0;   // outside of parallel loops
  double loops = 0;    // in parallel loops
  double waiting = 0;  // in barriers
  double bytes = 0;    // that the step reads and writes, if no cache keeps a tensor

  double step() const { return serial + loops + waiting; }
};

constexpr Index kMostCores = 1024;
// Assumed time of a barrier: every core takes a cache line from another one.
constexpr double kBarrierSecondsOfCore = 1e-7;
// A tensor is written once and read once.
constexpr double kPassesOfTensor = 2;
// Passes over the parameters besides those over their gradients: forward, backward and norm, and
// reading and writing weights and both moments in AdamW.
constexpr double kPassesOfParameters = 9;

// A step on one core, in seconds.
struct SimulatedStep {
  double serial = 0;
  std::vector<kernels::LoopTime> loops;
};

SimulatedStep simulated_step(Trainer& trainer, Index cores) {
  const kernels::SimulatedCores simulation(cores);
  SimulatedStep step{.serial = trainer.step().seconds, .loops = simulation.loops()};
  for (const kernels::LoopTime& loop : step.loops) {
    step.serial -= loop.sum;
  }
  return step;
}

// Keeps the shorter time of each part. Steps consist of the same loops.
void keep_fastest(SimulatedStep& fastest, const SimulatedStep& step) {
  fastest.serial = std::min(fastest.serial, step.serial);
  for (std::size_t i = 0; i < std::min(fastest.loops.size(), step.loops.size()); ++i) {
    kernels::LoopTime& loop = fastest.loops[i];
    loop.sum = std::min(loop.sum, step.loops[i].sum);
    loop.longest = std::min(loop.longest, step.loops[i].longest);
  }
}

CoreTimes core_times(const BenchTask& task, Trainer& trainer, Index cores) {
  const std::size_t before = tensor_bytes_so_far();
  SimulatedStep fastest = simulated_step(trainer, cores);
  const double tensor_bytes = static_cast<double>(tensor_bytes_so_far() - before);
  for (Index step = 1; step < task.steps; ++step) {
    keep_fastest(fastest, simulated_step(trainer, cores));
  }
  const auto parameters = static_cast<double>(count_parameters(task.model()).total());
  const auto barriers = std::ssize(fastest.loops);
  CoreTimes times{
      .cores = cores,
      .barriers = barriers,
      .alone = fastest.serial,
      .serial = fastest.serial,
      .waiting = kBarrierSecondsOfCore * static_cast<double>(cores * barriers),
      .bytes = kPassesOfTensor * tensor_bytes + kPassesOfParameters * sizeof(float) * parameters};
  for (const kernels::LoopTime& loop : fastest.loops) {
    times.alone += loop.sum;
    times.loops += std::max(loop.sum / static_cast<double>(cores), loop.longest);
  }
  return times;
}

// Makes --steps steps for each number of --cores.
std::vector<CoreTimes> simulate_cores(const BenchTask& task, Trainer& trainer) {
  std::vector<CoreTimes> all;
  for (const Index cores : task.options.integers("cores")) {
    require(cores >= 2 && cores <= kMostCores, "--cores: expected 2 to ", kMostCores, ", got ",
            cores);
    all.push_back(core_times(task, trainer, cores));
  }
  return all;
}

Json to_json(const std::vector<CoreTimes>& all) {
  Json rows = Json::array();
  for (const CoreTimes& times : all) {
    rows.push_back({{"cores", times.cores},
                    {"barriers", times.barriers},
                    {"serial_ms", 1e3 * times.serial},
                    {"loops_ms", 1e3 * times.loops},
                    {"barriers_ms", 1e3 * times.waiting},
                    {"step_ms", 1e3 * times.step()},
                    {"speedup", times.alone / times.step()},
                    {"bytes", times.bytes},
                    {"gb_per_second", times.bytes / times.step() / 1e9}});
  }
  return rows;
}

std::string to_text(const std::vector<CoreTimes>& all) {
  std::string text =
      "\nPredicted from the fastest times on one core, if a barrier takes 0.1 us a core and the "
      "memory\nhas the bandwidth of the last column:\n"
      " cores  barriers  serial ms  loops ms  barriers ms   step ms  speedup  GB/s\n";
  for (const CoreTimes& times : all) {
    text += fmt::format("{:>6} {:>9} {:>10.2f} {:>9.2f} {:>12.2f} {:>9.2f} {:>8.1f} {:>5.0f}\n",
                        times.cores, times.barriers, 1e3 * times.serial, 1e3 * times.loops,
                        1e3 * times.waiting, 1e3 * times.step(), times.alone / times.step(),
                        times.bytes / times.step() / 1e9);
  }
  return text;
}

constexpr Index kStreamBatches = 4;  // with different tokens, if packed
constexpr std::uint64_t kLengthStream = 3;

// Random tokens. Packed: one stream. Otherwise one document for every sequence of every step.
TokenDataset random_dataset(const BenchTask& task) {
  const TrainConfig& config = task.config;
  if (config.batching == "packed") {
    const Index count = kStreamBatches * config.batch_size * config.gpt.block_size + 1;
    return stream_dataset(random_tokens(count, config.vocab_size, 0));
  }
  const auto of = [](Index count) { return static_cast<double>(count); };
  require_free_memory(4 * of(task.warmup + task.steps) * of(config.gradient_accumulation_steps) *
                          of(config.batch_size) * of(config.gpt.block_size + 1),
                      "the random sequences of all steps");
  const Index documents =
      (task.warmup + task.steps) * config.gradient_accumulation_steps * config.batch_size;
  return random_documents(documents, config.gpt.block_size, config.vocab_size,
                          {static_cast<std::uint64_t>(config.seed), kLengthStream});
}

// Number of inputs of every sequence of one step.
std::vector<Index> step_lengths(const TrainConfig& config, Batcher& batcher, Index step) {
  std::vector<Index> lengths;
  const Index pieces = config.gradient_accumulation_steps;
  for (Index piece = 0; piece < pieces; ++piece) {
    for (const auto& sequence : batcher.sequences(step * pieces + piece)) {
      lengths.push_back(static_cast<Index>(sequence.size()) - 1);
    }
  }
  return lengths;
}

double step_flops(const GptConfig& model, const std::vector<Index>& lengths) {
  std::vector<Index> offsets{0};
  for (const Index length : lengths) {
    offsets.push_back(offsets.back() + length);
  }
  return training_flops(model, offsets);
}

// `lengths`: of the step's sequences.
StepSize step_size(const GptConfig& model, const std::vector<Index>& lengths) {
  const auto tokens =
      static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), Index{0}));
  return {.tokens = tokens, .flops = step_flops(model, lengths)};
}

struct MeasuredSteps {
  std::vector<StepMetrics> steps;
  std::vector<std::vector<Index>> lengths;  // [steps][sequences]
  StorageStatistics storage;
  double allocations = 0;  // from the system, a step
  double peak_memory = 0;  // bytes
  std::vector<CoreTimes> cores;
  std::vector<RooflineRow> roofline;
};

MeasuredSteps run_steps(const BenchTask& task) {
  const TokenDataset dataset = random_dataset(task);
  Gpt model(task.model(), static_cast<std::uint64_t>(task.config.seed));
  Trainer trainer(task.config, model, dataset, all_processes());
  Batcher batcher(dataset, task.config.batcher());
  const auto progress = progress_bar("training");
  const Index all = task.warmup + task.steps;
  for (Index step = 0; step < task.warmup; ++step) {
    trainer.step();
    progress(share_of(step + 1, all));
  }
  MeasuredSteps measured;
  const std::size_t before = storage_statistics().system_allocations;
  for (Index step = 0; step < task.steps; ++step) {
    measured.steps.push_back(trainer.step());
    progress(share_of(task.warmup + step + 1, all));
  }
  measured.storage = storage_statistics();
  measured.allocations = static_cast<double>(measured.storage.system_allocations - before) /
                         static_cast<double>(task.steps);
  measured.peak_memory = peak_memory();
  measured.cores = simulate_cores(task, trainer);
  if (task.options.given("phases")) {
    measured.roofline = measure_roofline(task, [&] {
      const StepMetrics step = trainer.step();
      return step_size(task.model(), step_lengths(task.config, batcher, step.iteration));
    });
  }
  for (Index step = 0; step < task.steps; ++step) {
    measured.lengths.push_back(step_lengths(task.config, batcher, task.warmup + step));
  }
  return measured;
}

struct TrainingSummary {
  Spread milliseconds;
  PhaseSeconds phases;  // medians
  double tokens_per_second = 0;
  double tokens = 0;            // mean of a step
  double flops = 0;             // mean of a step
  double flops_per_second = 0;  // median
};

template <class Value>
double median_of(const std::vector<StepMetrics>& steps, const Value& value) {
  return spread_of(transformed(steps, value)).median;
}

TrainingSummary summarize(const BenchTask& task, const MeasuredSteps& measured) {
  TrainingSummary summary;
  std::vector<double> rates;  // FLOP/s
  const auto count = static_cast<double>(measured.steps.size());
  for (std::size_t i = 0; i < measured.steps.size(); ++i) {
    const double seconds = measured.steps[i].seconds;
    const double flops = step_flops(task.model(), measured.lengths[i]);
    rates.push_back(flops / seconds);
    summary.flops += flops / count;
    summary.tokens += static_cast<double>(measured.steps[i].tokens) / count;
  }
  summary.milliseconds =
      spread_of(transformed(measured.steps, [](const auto& step) { return 1e3 * step.seconds; }));
  summary.flops_per_second = spread_of(rates).median;
  summary.tokens_per_second = median_of(measured.steps, [](const StepMetrics& step) {
    return static_cast<double>(step.tokens) / step.seconds;
  });
  const auto phase = [&](double PhaseSeconds::*member) {
    return median_of(measured.steps, [=](const StepMetrics& step) { return step.phases.*member; });
  };
  summary.phases = {phase(&PhaseSeconds::data), phase(&PhaseSeconds::forward),
                    phase(&PhaseSeconds::backward), phase(&PhaseSeconds::optimizer)};
  return summary;
}

Json to_json(const BenchTask& task, const MeasuredSteps& measured, const TrainingSummary& summary,
             const GemmRates& rates) {
  const PhaseSeconds& phases = summary.phases;
  Json json{{"tokens_per_second", summary.tokens_per_second},
            {"ms_per_step", summary.milliseconds.median},
            {"ms_per_step_min", summary.milliseconds.min},
            {"ms_per_step_max", summary.milliseconds.max},
            {"phases",
             {{"data_ms", 1e3 * phases.data},
              {"forward_ms", 1e3 * phases.forward},
              {"backward_ms", 1e3 * phases.backward},
              {"optimizer_ms", 1e3 * phases.optimizer}}},
            {"tokens_per_step", summary.tokens},
            {"flops_per_step", summary.flops},
            {"flops_per_second", summary.flops_per_second},
            {"mfu", summary.flops_per_second / rates.own},
            {"gemm_flops_per_second", rates.own},
            {"blas_flops_per_second", rates.blas},
            {"peak_rss_mib", measured.peak_memory / kMebibyte},
            {"live_mib", static_cast<double>(measured.storage.live_bytes) / kMebibyte},
            {"cached_mib", static_cast<double>(measured.storage.cached_bytes) / kMebibyte},
            {"system_allocations_per_step", measured.allocations},
            {"loss", measured.steps.back().loss},
            {"processes", all_processes().count()},
            {"steps", task.steps}};
  if (!measured.cores.empty()) {
    json["cores"] = to_json(measured.cores);
  }
  if (!measured.roofline.empty()) {
    json["roofline"] = to_json(measured.roofline);
  }
  if (task.config.batching != "packed") {
    json["sequence_lengths"] = measured.lengths;
  }
  return json;
}

std::string phase_text(const char* name, double seconds, const PhaseSeconds& all) {
  return fmt::format("  {:<20} {:>10.2f} ms  {:>3.0f} %\n", name, 1e3 * seconds,
                     100 * seconds / all.total());
}

std::string to_text(const BenchTask& task, const MeasuredSteps& measured,
                    const TrainingSummary& summary, const GemmRates& rates) {
  const PhaseSeconds& phases = summary.phases;
  std::string text = model_text(task.model()) + "\n";
  text += fmt::format("{} batches of {} x {}, {:.1f} real tokens a step\n\n", task.config.batching,
                      task.config.batch_size, task.config.gpt.block_size, summary.tokens);
  text += fmt::format("{} tokens/s\n", grouped(std::llround(summary.tokens_per_second)));
  text += fmt::format("{:.2f} ms a step, the median of {} ({:.2f} to {:.2f})\n",
                      summary.milliseconds.median, task.steps, summary.milliseconds.min,
                      summary.milliseconds.max);
  text += phase_text("data", phases.data, phases) + phase_text("forward", phases.forward, phases) +
          phase_text("backward", phases.backward, phases) +
          phase_text("clip and optimizer", phases.optimizer, phases);
  text += fmt::format(
      "{:.3g} GFLOP a step, {:.1f} GFLOP/s: {:.0f} % of the {:.1f} GFLOP/s of large products\n",
      summary.flops / 1e9, summary.flops_per_second / 1e9,
      100 * summary.flops_per_second / rates.own, rates.own / 1e9);
  text += fmt::format("(BLAS with threads of its own: {:.1f} GFLOP/s)\n", rates.blas / 1e9);
  text += "peak memory " + bytes_text(measured.peak_memory) + "; in tensors " +
          bytes_text(static_cast<double>(measured.storage.live_bytes)) + ", kept for reuse " +
          bytes_text(static_cast<double>(measured.storage.cached_bytes));
  text += fmt::format("; {:.1f} system allocations a step\n", measured.allocations);
  text += measured.cores.empty() ? "" : to_text(measured.cores);
  return measured.roofline.empty() ? text : text + to_text(measured.roofline);
}

}  // namespace

BenchReport bench_train(const BenchTask& task) {
  constexpr double kBytesPerParameter = 16;  // weights, gradients, two moments
  require_free_memory(
      kBytesPerParameter * static_cast<double>(count_parameters(task.model()).total()),
      "training this model");
  const MeasuredSteps measured = run_steps(task);
  const TrainingSummary summary = summarize(task, measured);
  const GemmRates rates = measure_gemm_rates();
  return {to_json(task, measured, summary, rates), to_text(task, measured, summary, rates)};
}

}  // namespace headlight::cli
