#pragma once

#include <limits>
#include <string>
#include <vector>

#include "headlight/datasets/batches/batcher.h"
#include "headlight/tensor/shape.h"

namespace headlight {

// Start of the data order: step `update` takes batch `batch`, counted from the first epoch. Not 0
// when settings of the data have changed during the run.
struct DataStart {
  Index update = 0;
  Index batch = 0;

  bool operator==(const DataStart&) const = default;
};

// State besides weights, moments and step number that affects later steps.
struct UpdateHistory {
  DataStart data_start = {};
  Index data_shift = 0;                    // in steps: data skipped by rollbacks
  Index skipped = 0;                       // steps skipped in total
  Index skipped_in_row = 0;                // steps skipped directly before this one
  Index rollbacks = 0;                     // in total
  std::vector<double> recent_losses = {};  // oldest first, at most kSpikeWindow: for skip_spikes
};

// Position of a run in its data. It follows from the other state; stored to detect changed data.
struct DataPosition {
  Index seed = 0;
  Index epoch = 0;              // from 0
  Index batch = 0;              // index of the next batch in the epoch
  Index batches_per_epoch = 0;  // 0: unknown
  Index tokens = 0;             // of the training data
  Index validation_tokens = 0;  // of the validation data; 0: none, or unknown
  // Fingerprints of the training and validation token ids; empty: unknown.
  std::string content = {};
  std::string validation_content = {};

  // Return true when both have the same training or validation tokens, as far as is known. Paths
  // are not compared.
  bool tokens_are(const DataPosition& other) const {
    return tokens == other.tokens && may_be_same(content, other.content);
  }
  bool validation_is(const DataPosition& other) const {
    return validation_tokens == other.validation_tokens &&
           may_be_same(validation_content, other.validation_content);
  }

 private:
  static bool may_be_same(const std::string& one, const std::string& other) {
    return one.empty() || other.empty() || one == other;
  }
};

// A setting changed by resuming. Both values are TOML.
struct SettingChange {
  Index iteration = 0;  // steps made before
  std::string key = {};
  std::string before = {};
  std::string after = {};
};

// Progress of a run. It stays small because it determines data order and dropout.
struct TrainingState {
  Index iteration = 0;        // steps made or skipped
  Index optimizer_steps = 0;  // steps made with these moments; save_checkpoint sets it
  double best_validation_loss = std::numeric_limits<double>::infinity();
  Index best_iteration = -1;  // step of that loss; -1: none
  Index evaluated = -1;       // steps before the last evaluation; -1: none
  Index without_better = -1;  // evaluations in a row since the best one; -1: unknown
  double learning_rate = 0;   // of the next step
  DataPosition data = {};
  UpdateHistory history = {};
  std::vector<SettingChange> changes = {};  // oldest first
  std::string config = {};                  // the run's configuration as TOML
  std::string build = {};                   // program that wrote it; empty: unknown
  std::string cpu_variant = {};             // CPU variant of its kernels; empty: unknown
  std::string products = {};                // library that computed matrix products; empty: unknown
};

}  // namespace headlight
