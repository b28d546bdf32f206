#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "headlight/cluster/processes.h"
#include "headlight/nn/gpt.h"
#include "headlight/train/memory_plan.h"
#include "headlight/train/train_config.h"
#include "headlight/train/training_state.h"
#include "train/training_data.h"

namespace headlight {

// What a run starts from.
struct RunStart {
  TrainConfig config;
  std::unique_ptr<Gpt> model;
  TrainingData data;
  std::string content;             // fingerprint of the ids to train on
  std::string validation_content;  // and of those to evaluate on
  TrainingState state;
  std::filesystem::path checkpoint;  // resumed from; empty: none
  MemoryPlan memory;
  std::vector<std::string> notes;     // what the user should know
  std::vector<std::string> warnings;  // what the user should look into
};

// In one of `processes`: reads the data and makes or loads the model; with `resume` that of the
// newest complete checkpoint of out_dir, or, in a run that was killed before its first, the one
// that it began with. Throws Error for what does not fit together, and when the memory will not do.
RunStart prepare_run(const TrainConfig& config, bool resume, Index processes = 1);

// Throws Error, in one process, when the processes differ in what they start from: settings, build,
// instruction set, products, data, weights.
void require_same_start(Processes& processes, const RunStart& start);

}  // namespace headlight
