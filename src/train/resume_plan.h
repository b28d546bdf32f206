#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "headlight/train/train_config.h"
#include "headlight/train/training_state.h"

namespace headlight {

// The settings that `state`, which messages call `where`, was made with. Keys that this version
// does not know are passed over.
TrainConfig settings_of(const TrainingState& state, const std::filesystem::path& where);

// Every setting in which a run goes on differently after `iteration` updates, out_dir aside. Those
// that follow from others count by what they come to. Throws Error naming each that a run keeps:
// those of its model, its tokenizer, its optimizer and what it started from.
std::vector<SettingChange> changed_settings(const TrainConfig& before, const TrainConfig& now,
                                            Index iteration);

// "after update 12: batch_size = 8 (was 6), ...", a line for each number of updates.
std::vector<std::string> lines_of(const std::vector<SettingChange>& changes);

// One side of a change of settings: how a run made its batches, and how it does from now on.
struct DataCourse {
  const TrainConfig& config;
  DataPosition position;  // after the change only batches_per_epoch and the tokens count
};

// Where the batches go on when a run changes its settings, and a line about it, if there is
// anything to say: about what is left out, what comes twice, and other data.
//   - Nothing that makes batches has changed: with the next batch.
//   - packed stays packed: with the next draws, from places of the text that are random anyway.
//   - padded stays padded with the same seed and data: at the same place of the order of the epoch.
//   - Else the epoch ends, and the next one begins in an order of its own.
struct DataPlan {
  DataStart start;
  std::string note;
};
DataPlan plan_data(const DataCourse& before, const DataCourse& now, const TrainingState& state);

// A line for each difference between the program that wrote a checkpoint and this one that may
// change the bits of what follows.
std::vector<std::string> build_warnings(const TrainingState& state);

}  // namespace headlight
