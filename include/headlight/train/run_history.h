#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/files/config_file.h"
#include "headlight/tensor/shape.h"

namespace headlight {

// What a curve is drawn against.
enum class HistoryAxis { updates, tokens, seconds };

template <>
inline constexpr auto kChoices<HistoryAxis> =
    std::to_array<Choice<HistoryAxis>>({{"updates", HistoryAxis::updates},
                                        {"tokens", HistoryAxis::tokens},
                                        {"seconds", HistoryAxis::seconds}});

// A loss of a run, and where the run stood then.
struct HistoryPoint {
  double updates = 0;        // made or left out before it
  double tokens = 0;         // trained on before it; NaN: the log does not say
  double seconds = 0;        // since the run began; NaN: the log does not say
  double loss = 0;           // nats a token
  double bits_per_byte = 0;  // in validation; NaN: not known

  double on(HistoryAxis axis) const;
};

// What a run directory tells about the run so far.
struct RunHistory {
  std::filesystem::path directory = {};
  std::vector<ConfigEntry> settings = {};     // of config.toml; none when there is no such file
  std::vector<HistoryPoint> training = {};    // of every update that was made, before it
  std::vector<HistoryPoint> validation = {};  // of every evaluation
  Index updates = 0;                          // made or left out
  Index skipped = 0;                          // of them
  Index rollbacks = 0;                        // returns to a checkpoint
  double tokens = 0;                          // trained on; NaN as in HistoryPoint
  double update_seconds = 0;                  // of the updates alone; NaN as in HistoryPoint
  double elapsed_seconds = 0;                 // since the run began; NaN as in HistoryPoint
  bool elapsed_is_partial = false;            // an older log: without saving and waiting
  Index damaged_lines = 0;     // that are left out; the last one may be in the making
  bool is_running = false;     // a process trains there now
  std::string tokenizer = {};  // fingerprint of tokenizer.json; empty: there is none yet

  // The value of a setting; empty when it is not there.
  std::string setting(std::string_view key) const;
  // 0: not known.
  Index max_updates() const;
  // Targets trained on in a second of an update; NaN: not known.
  double tokens_per_second() const;
  // The evaluation with the lowest loss; nullptr: there was none.
  const HistoryPoint* best_validation() const;
};

// Reads metrics.jsonl, config.toml and the tokenizer of a run, also of one that is in progress or
// was killed: a last line that is not whole is left out, and updates that were made again after a
// return to an earlier one count as made the last time. Throws Error when the directory is no run's
// or its files cannot be read.
RunHistory read_run_history(const std::filesystem::path& run);

// A setting that some of the runs do not share.
struct SettingDifference {
  std::string key;
  std::vector<std::string> values = {};  // of each run; empty: it does not have it
};

// In the order of the files, without out_dir, of runs that have settings.
std::vector<SettingDifference> differing_settings(std::span<const RunHistory> runs);

// What stands in the way of comparing the losses of these runs, as far as they tell.
struct Comparability {
  bool same_tokenizer = true;  // else a loss in nats a token is one of another unit
  bool same_validation = true;
  bool bits_per_byte = true;  // every evaluation of every run knows them, and there are some
};

Comparability comparability(std::span<const RunHistory> runs);

struct CurveOptions {
  HistoryAxis axis = HistoryAxis::updates;
  // Weight of what came before in the moving average of training losses, as TensorBoard's: the
  // average begins without a bias towards 0. 0: none.
  double smoothing = 0.95;
  // Instead of nats a token. Training losses are converted by the bytes that a token has in
  // validation.
  bool bits_per_byte = false;
  // More are averaged over equal parts of the axis; at least 2.
  Index points = 1000;

  // Throws Error naming the first field that is out of range.
  void validate() const;
};

struct LossCurve {
  std::vector<double> x;  // ascending
  std::vector<double> loss;

  bool empty() const { return x.empty(); }
  // Between two points on the line that joins them; NaN outside.
  double at(double where) const;
};

// Empty when the log does not know the axis, or bits per byte are asked for and not known.
LossCurve training_curve(const RunHistory& run, const CurveOptions& options = {});
LossCurve validation_curve(const RunHistory& run, const CurveOptions& options = {});

}  // namespace headlight
