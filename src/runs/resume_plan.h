#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "headlight/train/train_config.h"
#include "headlight/train/training_state.h"

namespace headlight {

// Returns the settings stored in `state`, which error messages call `where`.
TrainConfig settings_of(const TrainingState& state, const std::filesystem::path& where);

// Returns the settings, except out_dir, that change after `iteration` steps. Compares derived
// settings by their values. Throws Error listing the changed settings that must not change: those
// of the model, tokenizer, optimizer and start.
std::vector<SettingChange> changed_settings(const TrainConfig& before, const TrainConfig& now,
                                            Index iteration);

// Returns "after update 12: batch_size = 8 (was 6), ...", a line for each step with changes.
std::vector<std::string> lines_of(const std::vector<SettingChange>& changes);

// How a run makes its batches, before or after a change of settings.
struct BatchingState {
  const TrainConfig& config;
  DataPosition position;  // after the change: batches_per_epoch, tokens, content
};

// Position of the next batch after a change of settings, and a line about skipped, repeated or
// different data, if any.
//   - Batches unchanged: the next batch.
//   - packed before and after: the next random draw, since positions in the text are random.
//   - padded before and after, with the same seed and data: the same position in the epoch's order.
//   - Otherwise: the start of the next epoch.
struct DataPlan {
  DataStart start;
  std::string note;
};
DataPlan plan_data(const BatchingState& before, const BatchingState& now,
                   const TrainingState& state);

// Returns a warning for each difference between this program and the checkpoint's that may change
// rounding.
std::vector<std::string> build_warnings(const TrainingState& state);

}  // namespace headlight
