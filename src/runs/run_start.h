#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/adapter/adapter.h"
#include "headlight/distributed/processes.h"
#include "headlight/nn/gpt.h"
#include "headlight/train/memory_plan.h"
#include "headlight/train/preference_tuning.h"
#include "headlight/train/train_config.h"
#include "headlight/train/training_state.h"
#include "runs/training_data.h"

namespace headlight {

// Everything a run needs to start or resume.
struct RunStart {
  TrainConfig config;
  std::unique_ptr<Gpt> model;
  std::optional<Adapter> adapter;  // what the run trains with lora_rank, instead of the weights
  std::filesystem::path base;      // base model of that adapter, if it has moved
  TrainingData data;
  // For pairs of answers: the loss, and the reference of the training and of any validation pairs.
  std::unique_ptr<PreferenceTuning> preferences;
  NamedTensors reference;
  std::string content;             // fingerprint of the training ids
  std::string validation_content;  // fingerprint of the validation ids
  TrainingState state;
  std::filesystem::path checkpoint;  // checkpoint to resume from; empty: none
  MemoryPlan memory;
  std::vector<std::string> notes;     // information for the user
  std::vector<std::string> warnings;  // possible problems for the user to check
};

// Functions that are called with a share, 0 to 1.
struct StartProgress {
  std::function<void(double share)> loading = [](double) {};  // as LoadOptions::progress
  std::function<void(double share)> reading = [](double) {};  // as that of load_training_data()
};

// Reads the data and creates or loads the model in one of `processes`. With `resume`, loads the
// newest complete checkpoint of out_dir; a run killed before its first checkpoint starts over.
// Throws Error for inconsistent settings and when memory does not suffice.
RunStart prepare_run(const TrainConfig& config, bool resume, Index processes = 1,
                     const StartProgress& progress = {});

// Throws Error in a process whose start differs from that of process 0: settings, build, CPU
// variant, products, data or weights.
void require_same_start(Processes& processes, const RunStart& start);

}  // namespace headlight
