#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/bench/bench.h"

// The parts of a training step, with the limit of each: Williams, Waterman and Patterson,
// "Roofline: An Insightful Visual Performance Model", CACM 52(4), 2009.
namespace headlight::cli {

struct StepSize {
  double tokens = 0;
  double flops = 0;  // training_flops()
};

struct RooflineRow {
  std::string phase;
  bool is_product = false;  // consists of matrix products
  double seconds = 0;
  double flops = 0;
  double bytes = 0;         // read and written, if no cache keeps anything
  double compute_time = 0;  // seconds at the measured rate of large products
  double memory_time = 0;   // seconds at the measured bandwidth

  double bound() const { return std::max(compute_time, memory_time); }
};

// Makes --steps steps and returns the parts of the fastest. `step` makes a step and returns its
// size.
std::vector<RooflineRow> measure_roofline(const BenchTask& task,
                                          const std::function<StepSize()>& step);

Json to_json(const std::vector<RooflineRow>& rows);
std::string to_text(const std::vector<RooflineRow>& rows);

}  // namespace headlight::cli
