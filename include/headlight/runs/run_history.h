#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/storage/config_file.h"
#include "headlight/tensor/shape.h"

namespace headlight {

// Horizontal axis of a loss curve.
enum class HistoryAxis { updates, tokens, seconds };

template <>
inline constexpr auto kChoices<HistoryAxis> =
    std::to_array<Choice<HistoryAxis>>({{"updates", HistoryAxis::updates},
                                        {"tokens", HistoryAxis::tokens},
                                        {"seconds", HistoryAxis::seconds}});

// A loss and the position of the run at that time.
struct HistoryPoint {
  double updates = 0;        // steps made or skipped before it
  double tokens = 0;         // trained on before it; NaN: not in the log
  double seconds = 0;        // since the run began; NaN: not in the log
  double loss = 0;           // nats a token
  double bits_per_byte = 0;  // validation only; NaN: unknown

  double on(HistoryAxis axis) const;
};

// The progress of a run, read from its directory.
struct RunHistory {
  std::filesystem::path directory = {};
  std::vector<ConfigEntry> settings = {};     // entries of config.toml; empty when there is no file
  std::vector<HistoryPoint> training = {};    // one for every step made: the loss before it
  std::vector<HistoryPoint> validation = {};  // one for every evaluation
  Index updates = 0;                          // steps made or skipped
  Index skipped = 0;                          // steps skipped
  Index rollbacks = 0;                        // returns to a checkpoint
  double tokens = 0;                          // trained on; NaN as in HistoryPoint
  double update_seconds = 0;                  // time in steps alone; NaN as in HistoryPoint
  double elapsed_seconds = 0;                 // since the run began
  Index damaged_lines = 0;     // lines ignored; the last line may still be being written
  bool is_running = false;     // a process is training in the directory now
  std::string tokenizer = {};  // fingerprint of tokenizer.json; empty: no checkpoint yet

  // Returns the value of a setting; empty if it is not set.
  std::string setting(std::string_view key) const;
  // Returns max_iters; 0: unknown.
  Index max_updates() const;
  // Returns targets trained on per second of step time; NaN: unknown.
  double tokens_per_second() const;
  // Returns the evaluation with the lowest loss, or nullptr.
  const HistoryPoint* best_validation() const;
};

// Reads metrics.jsonl, config.toml and the tokenizer of a run, even of a running or killed one.
// Ignores an incomplete last line. Of steps that were repeated after a rollback, the last
// repetition counts. Throws Error when the directory is not a run directory or its files cannot be
// read.
RunHistory read_run_history(const std::filesystem::path& run);

// A setting whose value differs between runs.
struct SettingDifference {
  std::string key;
  std::vector<std::string> values = {};  // one for each run; empty: not set in that run
};

// Returns the settings that differ, except out_dir, in file order. Ignores runs without settings.
std::vector<SettingDifference> differing_settings(std::span<const RunHistory> runs);

// Conditions for comparing the losses of several runs, as far as they are recorded.
struct Comparability {
  bool same_tokenizer = true;  // else nats per token are different units
  bool same_validation = true;
  bool bits_per_byte = true;  // every run has evaluations, and all have bits per byte
};

Comparability comparability(std::span<const RunHistory> runs);

struct CurveOptions {
  HistoryAxis axis = HistoryAxis::updates;
  // Weight of the previous average in the exponential moving average of training losses, as in
  // TensorBoard. The start is corrected for its bias towards 0. 0: no smoothing.
  double smoothing = 0.95;
  // Bits per byte instead of nats per token. Training losses are converted with the bytes per token
  // of the validation data.
  bool bits_per_byte = false;
  // Maximum number of points, at least 2. More are averaged over equal parts of the axis.
  Index points = 1000;

  // Throws Error naming the first field that is out of range.
  void validate() const;
};

struct LossCurve {
  std::vector<double> x;  // ascending
  std::vector<double> loss;

  bool empty() const { return x.empty(); }
  // Returns the loss at `where`, interpolated linearly; NaN outside the curve.
  double at(double where) const;
};

// Empty when the log lacks the axis, or lacks bits per byte although they are requested.
LossCurve training_curve(const RunHistory& run, const CurveOptions& options = {});
LossCurve validation_curve(const RunHistory& run, const CurveOptions& options = {});

}  // namespace headlight
