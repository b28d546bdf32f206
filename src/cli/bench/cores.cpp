#include "cli/bench/cores.h"

#include <algorithm>

#include "cli/bench/tools.h"
#include "headlight/nn/architecture.h"
#include "kernels/machine/simulated_cores.h"
#include "tensor/tensor_bytes.h"

namespace headlight::cli {
namespace {

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

}  // namespace

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

}  // namespace headlight::cli
