#pragma once

#include <vector>

#include "headlight/kernels/threads/parallel.h"

// Measures parallel loops as on a machine with more cores than this one.
namespace headlight::kernels {

// Seconds of a loop's chunks on one core.
struct LoopTime {
  double sum = 0;
  double longest = 0;
};

// While it lives, loops that its thread starts are divided as for `cores` threads. They run on this
// thread alone, so that nothing disturbs the times of their chunks.
class SimulatedCores {
 public:
  explicit SimulatedCores(Index cores);
  ~SimulatedCores();
  SimulatedCores(const SimulatedCores&) = delete;
  SimulatedCores& operator=(const SimulatedCores&) = delete;

  // Returns the simulation of this thread, or null.
  static SimulatedCores* current();

  Index cores() const { return cores_; }
  // Loops with several chunks so far, in order.
  const std::vector<LoopTime>& loops() const { return loops_; }
  // Runs a loop.
  void run(Index chunks, ChunkFunction function, const void* body);

 private:
  Index cores_;
  std::vector<LoopTime> loops_;
};

}  // namespace headlight::kernels
