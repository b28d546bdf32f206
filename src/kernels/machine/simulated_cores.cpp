#include "kernels/machine/simulated_cores.h"

#include <algorithm>

#include "base/stopwatch.h"

namespace headlight::kernels {
namespace {

thread_local SimulatedCores* current_simulation = nullptr;

}  // namespace

SimulatedCores::SimulatedCores(Index cores) : cores_(cores) { current_simulation = this; }

SimulatedCores::~SimulatedCores() { current_simulation = nullptr; }

SimulatedCores* SimulatedCores::current() { return current_simulation; }

void SimulatedCores::run(Index chunks, ChunkFunction function, const void* body) {
  LoopTime time;
  Stopwatch clock;
  for (Index chunk = 0; chunk < chunks; ++chunk) {
    function(body, 0, chunk);
    const double seconds = clock.lap();
    time.sum += seconds;
    time.longest = std::max(time.longest, seconds);
  }
  loops_.push_back(time);
}

}  // namespace headlight::kernels
