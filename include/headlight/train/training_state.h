#pragma once

#include <limits>
#include <string>
#include <vector>

#include "headlight/data/batcher.h"
#include "headlight/tensor/shape.h"

namespace headlight {

// Update `update` takes batch `batch`, counted from the first of the first epoch; those after it
// follow. Another than the first when the settings of the data have changed on the way.
struct DataStart {
  Index update = 0;
  Index batch = 0;

  bool operator==(const DataStart&) const = default;
};

// What later updates depend on besides weights, moments and the number of the update.
struct UpdateHistory {
  DocumentOrder data_order = DocumentOrder::computed;
  DataStart data_start = {};
  Index data_shift = 0;                    // updates' worth of data that rollbacks passed over
  Index skipped = 0;                       // updates left out, in all
  Index skipped_in_row = 0;                // the last ones before this
  Index rollbacks = 0;                     // in all
  std::vector<double> recent_losses = {};  // oldest first, at most kSpikeWindow: for skip_spikes
};

// Where a run stands in its data; a function of the rest, kept to see that the data is the same.
struct DataPosition {
  Index seed = 0;
  Index epoch = 0;              // from 0
  Index batch = 0;              // of the epoch, the next to be taken
  Index batches_per_epoch = 0;  // 0: unknown
  Index tokens = 0;             // of the training data
  Index validation_tokens = 0;  // of the validation data; 0: none, or unknown
  // Fingerprints of the token ids of both; empty: unknown.
  std::string content = {};
  std::string validation_content = {};

  // True when both have the same tokens to train on, or to evaluate on, as far as is known. A path
  // says nothing about that, and old checkpoints know only the number.
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

// A setting with which a run went on in another value; both as TOML.
struct SettingChange {
  Index iteration = 0;  // updates made before
  std::string key = {};
  std::string before = {};
  std::string after = {};
};

// Where a run stands; small numbers only, because data order and dropout are functions of them.
struct TrainingState {
  Index iteration = 0;        // updates made or left out
  Index optimizer_steps = 0;  // updates made with these moments; filled in by reading
  double best_validation_loss = std::numeric_limits<double>::infinity();
  Index best_iteration = -1;  // of that loss; -1: none, or written by an older version
  Index evaluated = -1;       // updates before the last evaluation; -1: none
  double learning_rate = 0;   // of the next update
  DataPosition data = {};
  UpdateHistory history = {};
  std::vector<SettingChange> changes = {};  // oldest first
  std::string config = {};                  // the run's configuration as TOML
  std::string build = {};                   // of the program that wrote it; empty: unknown
  std::string cpu_variant = {};             // its kernels; empty: unknown
  std::string products = {};                // who computed matrix products; empty: unknown
};

// state.json of a checkpoint, as text.
std::string to_state_json(const TrainingState& state);

// Throws Error, one line that begins with `where` and names the member, for text that
// to_state_json, of this version or an earlier one, would not write, and for numbers that
// contradict each other.
TrainingState parse_state_json(const std::string& text, const std::string& where);

}  // namespace headlight
