#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/bench/bench.h"
#include "headlight/train/trainer.h"

// Training steps as on machines with more cores.
namespace headlight::cli {

// A predicted step, in seconds.
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

// Makes --steps steps for each number of --cores.
std::vector<CoreTimes> simulate_cores(const BenchTask& task, Trainer& trainer);

Json to_json(const std::vector<CoreTimes>& all);
std::string to_text(const std::vector<CoreTimes>& all);

}  // namespace headlight::cli
