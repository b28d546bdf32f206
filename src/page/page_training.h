#pragma once

#include <string>

#include "headlight/runs/run.h"
#include "interpret/scores/head_tracker.h"
#include "runs/logs/sample_writer.h"

namespace headlight::wasm {

// A training run that the reader of a page starts. It is a run of `headlight train`: its files are
// in the virtual file system.
class PageTraining {
 public:
  // `settings` is JSON: texts by keys of TrainConfig. Throws Error as run_training() does.
  explicit PageTraining(const std::string& settings);

  // Makes steps for about this long, at least one. Returns false when the run is over.
  bool advance(double seconds);
  // Saves the run and returns its model. Call once, at any step.
  LoadedModel finish();

 private:
  TrainConfig config_;
  HeadTracker heads_;
  SampleWriter samples_;
  TrainingRun run_;  // last: it calls the observers
};

}  // namespace headlight::wasm
