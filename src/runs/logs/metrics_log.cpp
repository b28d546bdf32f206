#include "runs/logs/metrics_log.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/json.h"
#include "headlight/formats/run_layout.h"

namespace headlight {
namespace {

// Returns true if the line is from before `state`. Steps are numbered from 0, evaluations by the
// steps before them; an evaluation with the state's own number counts if the state includes it.
bool is_before(const TrainingState& state, const MetricsLine& line) {
  const bool evaluated =
      line.kind == MetricsLine::Kind::evaluation && state.evaluated == state.iteration;
  return line.iteration >= 0 && line.iteration < state.iteration + (evaluated ? 1 : 0);
}

bool changes_bits(const SettingChange& change) {
  const auto fields = config_fields();
  return std::any_of(fields.begin(), fields.end(), [&](const ConfigField& field) {
    return field.key == change.key && field.role == ConfigRole::training;
  });
}

// Upper bound of every valid loss, count and time.
constexpr double kLargestNumber = 1e15;

// Returns a number of the line; NaN if it is missing or out of range.
double number_of(const Json& line, const char* key, double least) {
  const Json* found = line.find(key);
  const double value = found != nullptr && found->is_number()
                           ? found->number()
                           : std::numeric_limits<double>::quiet_NaN();
  return value >= least && value <= kLargestNumber ? value
                                                   : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::optional<MetricsLine> parse_metrics_line(const std::string& text) {
  const Json line = metrics_object(text);
  if (!line.is_object()) {
    return std::nullopt;
  }
  using Kind = MetricsLine::Kind;
  const bool evaluated = line.contains("validation_loss");
  const bool returned = line.contains("rollback_from");
  const double number = number_of(line, "iteration", 0);
  const Index iteration = std::isnan(number) ? -1 : static_cast<Index>(number);
  if (iteration < 0 || (!evaluated && !returned && !line.contains("loss"))) {
    return MetricsLine{.kind = Kind::other, .iteration = iteration};
  }
  return MetricsLine{
      .kind = evaluated  ? Kind::evaluation
              : returned ? Kind::rollback
                         : Kind::step,
      .iteration = iteration,
      .loss = number_of(line, evaluated ? "validation_loss" : "loss", -kLargestNumber),
      .bits_per_byte = number_of(line, "validation_bits_per_byte", 0),
      .tokens = number_of(line, "tokens", 0),
      .seconds = number_of(line, "seconds", 0),
      .elapsed = number_of(line, "elapsed_seconds", 0),
      .skipped = line.contains("skipped")};
}

MetricsLog::MetricsLog(const std::filesystem::path& run, const TrainingState& begin,
                       const MetricsFormats& formats, const LineLog::OnFailure& on_failure)
    : path_(run / kRunMetrics) {
  const LineLog::Keep keep = [&](const std::string& line) {
    const std::optional<MetricsLine> metrics = parse_metrics_line(line);
    const bool kept = metrics && is_before(begin, *metrics);
    before_ = kept ? std::fmax(before_, metrics->elapsed) : before_;  // ignores NaN
    return kept;
  };
  saving([&] { lines_.emplace(path_, keep, on_failure); });
  if (formats.csv) {
    copies_.push_back(metrics_csv(run, on_failure));
  }
  if (formats.tensorboard) {
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    copies_.push_back(metrics_events(run, now.count() - before_, on_failure));
  }
  restart_copies();
}

void MetricsLog::append(const Json& line) {
  lines_->append(line.dump());
  for (MetricsCopy& copy : copies_) {
    copy.append(line);
  }
}

void MetricsLog::restart_copies() {
  saving([&] {
    for (MetricsCopy& copy : copies_) {
      copy.restart(path_);
    }
  });
}

void MetricsLog::on_start(const RunPlan& plan) {
  append_changes(plan.first_iteration, plan.changes);
}

// Appends the changes made at this step. Their earlier lines were cut with the lines after it.
void MetricsLog::append_changes(Index iteration, const std::vector<SettingChange>& changes) {
  Json changed;
  for (const SettingChange& change : changes) {
    if (change.iteration == iteration && changes_bits(change)) {
      changed[change.key] = {{"before", change.before}, {"after", change.after}};
    }
  }
  if (!changed.empty()) {
    append(Json{{"iteration", iteration}, {"changed", changed}});
  }
}

void MetricsLog::cut(const TrainingState& state) {
  saving([&] {
    lines_->cut([&](const std::string& line) {
      const std::optional<MetricsLine> metrics = parse_metrics_line(line);
      const bool returned = metrics && metrics->kind == MetricsLine::Kind::rollback &&
                            metrics->iteration == state.iteration;
      return returned || (metrics && is_before(state, *metrics));
    });
  });
  restart_copies();
  append_changes(state.iteration, state.changes);
}

void MetricsLog::on_step(const StepMetrics& metrics) {
  Json line{{"iteration", metrics.iteration},
            {"loss", metrics.loss},
            {"learning_rate", metrics.learning_rate},
            {"gradient_norm", metrics.gradient_norm},
            {"tokens", metrics.tokens},
            {"seconds", metrics.seconds},
            {"elapsed_seconds", elapsed()}};
  if (metrics.outcome != StepOutcome::updated) {
    line["skipped"] = metrics.reason;
  }
  append(line);
}

void MetricsLog::on_evaluation(const EvaluationMetrics& metrics) {
  const Evaluation& validation = metrics.validation;
  Json line{{"iteration", metrics.iteration},
            {"validation_loss", validation.loss},
            {"validation_perplexity", nullptr},
            {"validation_bits_per_byte", nullptr},
            {"validation_tokens", validation.tokens},
            {"best", metrics.best},
            {"seconds", metrics.seconds},
            {"elapsed_seconds", elapsed()}};
  if (validation.bytes > 0) {
    line["validation_bits_per_byte"] = validation.bits_per_byte;
  }
  if (validation.pairs > 0) {
    line["validation_accuracy"] = validation.accuracy;
    line["validation_margin"] = validation.margin;
  } else {
    line["validation_perplexity"] = validation.perplexity;
  }
  append(line);
}

void MetricsLog::on_rollback(const RollbackMetrics& metrics) {
  append(Json{{"iteration", metrics.iteration},
              {"rollback_from", metrics.from},
              {"reason", metrics.reason}});
}

}  // namespace headlight
