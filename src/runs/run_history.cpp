#include "headlight/runs/run_history.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "base/strings/printable.h"
#include "base/strings/read_number.h"
#include "datasets/fingerprint.h"
#include "headlight/base/error.h"
#include "headlight/formats/run_layout.h"
#include "headlight/storage/directory_lock.h"
#include "runs/logs/metrics_log.h"
#include "storage/file_lines.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

class HistoryReader {
 public:
  explicit HistoryReader(RunHistory& history) : history_(history) {}

  void add(const MetricsLine& line) {
    history_.elapsed_seconds = std::fmax(history_.elapsed_seconds, line.elapsed);  // ignores NaN
    if (line.kind == MetricsLine::Kind::step) {
      add_step(line);
    } else if (line.kind == MetricsLine::Kind::evaluation) {
      drop_from(history_.validation, static_cast<double>(line.iteration));
      if (!std::isnan(line.loss)) {
        history_.validation.push_back(point(line));
      }
    } else if (line.kind == MetricsLine::Kind::rollback) {
      ++history_.rollbacks;
    }
  }

 private:
  // Drops the points of steps that the run repeats after a rollback.
  static void drop_from(std::vector<HistoryPoint>& points, double updates) {
    while (!points.empty() && points.back().updates >= updates) {
      points.pop_back();
    }
  }

  void add_step(const MetricsLine& line) {
    const auto updates = static_cast<double>(line.iteration);
    if (line.iteration < history_.updates) {
      go_back_to(updates);
    }
    history_.updates = line.iteration + 1;
    history_.skipped += line.skipped ? 1 : 0;
    history_.update_seconds += line.seconds;
    if (!line.skipped && !std::isnan(line.loss)) {
      history_.training.push_back(point(line));
    }
    history_.tokens += line.skipped ? 0 : line.tokens;
  }

  void go_back_to(double updates) {
    const auto again = std::lower_bound(
        history_.training.begin(), history_.training.end(), updates,
        [](const HistoryPoint& point, double wanted) { return point.updates < wanted; });
    if (again != history_.training.end()) {
      history_.tokens = again->tokens;
    }
    drop_from(history_.training, updates);
    drop_from(history_.validation, updates + 1);
  }

  HistoryPoint point(const MetricsLine& line) const {
    return {.updates = static_cast<double>(line.iteration),
            .tokens = history_.tokens,
            .seconds = line.elapsed,
            .loss = line.loss,
            .bits_per_byte = line.bits_per_byte};
  }

  RunHistory& history_;
};

// Returns the fingerprint of the newest model's tokenizer; empty before the first checkpoint.
std::string tokenizer_fingerprint(const fs::path& run) {
  constexpr Index kLargest = Index{1} << 28;  // bytes
  const std::optional<fs::path> model = model_in(run);
  if (!model.has_value() || !fs::exists(*model / "tokenizer.json")) {
    return "";
  }
  return fingerprint_of_bytes(read_whole_file(*model / "tokenizer.json", kLargest));
}

// Returns bits per byte for one nat per token, from the last usable evaluation, or NaN.
double bits_per_byte_of_a_nat(const RunHistory& run) {
  for (auto point = run.validation.rbegin(); point != run.validation.rend(); ++point) {
    if (point->bits_per_byte > 0 && point->loss > 0) {
      return point->bits_per_byte / point->loss;
    }
  }
  return kNoNumber;
}

bool has_bits_per_byte(const RunHistory& run) {
  return !run.validation.empty() &&
         std::none_of(run.validation.begin(), run.validation.end(),
                      [](const HistoryPoint& point) { return std::isnan(point.bits_per_byte); });
}

// Smooths in place. Divides by the sum of the weights so far, which corrects the bias of the start.
void smooth(std::vector<double>& losses, double weight) {
  double average = 0;
  double total = 0;
  for (double& loss : losses) {
    average = weight * average + (1 - weight) * loss;
    total = weight * total + (1 - weight);
    loss = average / total;
  }
}

// Returns the curve averaged over `parts` equal parts of the axis.
LossCurve thinned(const LossCurve& curve, Index parts) {
  const double begin = curve.x.front();
  const double span = curve.x.back() - begin;
  if (std::ssize(curve.x) <= parts || !(span > 0)) {
    return curve;
  }
  LossCurve result;
  for (std::size_t i = 0; i < curve.x.size();) {
    const auto part_of = [&](std::size_t point) {
      return std::min(parts - 1, static_cast<Index>((curve.x[point] - begin) / span *
                                                    static_cast<double>(parts)));
    };
    const Index part = part_of(i);
    LossCurve inside;
    for (; i < curve.x.size() && part_of(i) == part; ++i) {
      inside.x.push_back(curve.x[i]);
      inside.loss.push_back(curve.loss[i]);
    }
    const auto mean = [](const std::vector<double>& values) {
      double sum = 0;
      for (const double value : values) {
        sum += value;
      }
      return sum / static_cast<double>(values.size());
    };
    result.x.push_back(mean(inside.x));
    result.loss.push_back(mean(inside.loss));
  }
  return result;
}

// Returns the points as a curve, without points whose axis value or loss is NaN.
LossCurve curve_of(const std::vector<HistoryPoint>& points, HistoryAxis axis) {
  LossCurve curve;
  for (const HistoryPoint& point : points) {
    const double x = point.on(axis);
    if (!std::isnan(x) && !std::isnan(point.loss)) {
      curve.x.push_back(x);
      curve.loss.push_back(point.loss);
    }
  }
  return curve;
}

// Returns true if all runs with settings have the same value.
bool same_setting(std::span<const RunHistory> runs, std::string_view key) {
  const auto first = std::find_if(runs.begin(), runs.end(),
                                  [](const RunHistory& run) { return !run.settings.empty(); });
  return std::all_of(first, runs.end(), [&](const RunHistory& run) {
    return run.settings.empty() || run.setting(key) == first->setting(key);
  });
}

}  // namespace

double HistoryPoint::on(HistoryAxis axis) const {
  return axis == HistoryAxis::tokens ? tokens : axis == HistoryAxis::seconds ? seconds : updates;
}

std::string RunHistory::setting(std::string_view key) const {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const ConfigEntry& entry) { return entry.key == key; });
  return found == settings.end() ? "" : found->value;
}

Index RunHistory::max_updates() const {
  return std::max<Index>(0, read_number<Index>(setting("max_iters")).value_or(0));
}

double RunHistory::tokens_per_second() const {
  return update_seconds > 0 ? tokens / update_seconds : kNoNumber;
}

const HistoryPoint* RunHistory::best_validation() const {
  const auto best = std::min_element(
      validation.begin(), validation.end(),
      [](const HistoryPoint& a, const HistoryPoint& b) { return a.loss < b.loss; });
  return best == validation.end() ? nullptr : &*best;
}

RunHistory read_run_history(const fs::path& run) {
  std::error_code error;
  require(fs::is_directory(run, error), shown(run), ": no such run directory");
  const fs::path log = run / kRunMetrics;
  require(fs::exists(log, error), shown(run),
          ": expected a run directory, which has metrics.jsonl");
  RunHistory history{.directory = run};
  if (fs::exists(run / kRunConfig, error)) {
    history.settings = read_config_file(run / kRunConfig);
  }
  HistoryReader reader(history);
  for_each_line(InputFile(log), [&](const std::string& text) {
    if (const std::optional<MetricsLine> line = parse_metrics_line(text)) {
      reader.add(*line);
    } else {
      ++history.damaged_lines;
    }
  });
  history.is_running = DirectoryLock::is_held(run);
  history.tokenizer = tokenizer_fingerprint(run);
  return history;
}

std::vector<SettingDifference> differing_settings(std::span<const RunHistory> runs) {
  std::vector<SettingDifference> differences;
  std::set<std::string> seen{"out_dir"};
  for (const RunHistory& run : runs) {
    for (const ConfigEntry& entry : run.settings) {
      if (seen.insert(entry.key).second && !same_setting(runs, entry.key)) {
        differences.push_back({.key = entry.key});
        for (const RunHistory& other : runs) {
          differences.back().values.push_back(other.setting(entry.key));
        }
      }
    }
  }
  return differences;
}

Comparability comparability(std::span<const RunHistory> runs) {
  constexpr std::array kText{
      "data",      "validation_data", "validation_fraction", "split_seed", "documents",
      "separator", "jsonl",           "token_dtype",         "eval_iters", "special_tokens"};
  constexpr std::array kTokenizer{"tokenizer", "vocab_size", "whole_characters"};
  const auto all_same = [&](const auto& keys) {
    return std::all_of(keys.begin(), keys.end(),
                       [&](const char* key) { return same_setting(runs, key); });
  };
  const bool files = std::all_of(runs.begin(), runs.end(),
                                 [](const RunHistory& run) { return !run.tokenizer.empty(); });
  Comparability result;
  result.same_validation = all_same(kText);
  // Without checkpoints, learned tokenizers are assumed equal if their data is the same.
  result.same_tokenizer = files ? std::all_of(runs.begin(), runs.end(),
                                              [&](const RunHistory& run) {
                                                return run.tokenizer == runs.front().tokenizer;
                                              })
                                : all_same(kTokenizer) && same_setting(runs, "data");
  result.bits_per_byte = std::all_of(runs.begin(), runs.end(), has_bits_per_byte);
  return result;
}

void CurveOptions::validate() const {
  require_value(smoothing >= 0 && smoothing < 1, "smooth",
                "expected a number from 0 to below 1, got ", smoothing);
  require_value(points >= 2, "points", "expected a number from 2, got ", points);
}

double LossCurve::at(double where) const {
  const auto after = std::lower_bound(x.begin(), x.end(), where);
  if (after == x.end()) {
    return kNoNumber;
  }
  const auto right = static_cast<std::size_t>(after - x.begin());
  if (*after == where || right == 0) {
    return *after == where ? loss[right] : kNoNumber;
  }
  const double share = (where - x[right - 1]) / (x[right] - x[right - 1]);
  return loss[right - 1] + share * (loss[right] - loss[right - 1]);
}

LossCurve training_curve(const RunHistory& run, const CurveOptions& options) {
  options.validate();
  const double factor = options.bits_per_byte ? bits_per_byte_of_a_nat(run) : 1;
  LossCurve curve = curve_of(run.training, options.axis);
  if (curve.empty() || std::isnan(factor)) {
    return {};
  }
  smooth(curve.loss, options.smoothing);
  for (double& loss : curve.loss) {
    loss *= factor;
  }
  return thinned(curve, options.points);
}

LossCurve validation_curve(const RunHistory& run, const CurveOptions& options) {
  options.validate();
  std::vector<HistoryPoint> points = run.validation;
  if (options.bits_per_byte) {
    for (HistoryPoint& point : points) {
      point.loss = point.bits_per_byte;
    }
  }
  const LossCurve curve = curve_of(points, options.axis);
  return curve.empty() ? curve : thinned(curve, options.points);
}

}  // namespace headlight
