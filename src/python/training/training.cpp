#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/json.h"
#include "headlight/runs/config_source.h"
#include "headlight/runs/run.h"
#include "headlight/runs/small_text.h"
#include "headlight/runs/starting_model.h"
#include "headlight/storage/file_writer.h"
#include "interpret/scores/head_tracker.h"
#include "python/analysis/text_data.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model/inputs.h"
#include "python/progress.h"
#include "python/training/run.h"
#include "python/training/settings.h"
#include "runs/logs/sample_writer.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Calls a Python function with the metrics of every step and evaluation, and obeys its results.
class Callback final : public TrainObserver {
 public:
  Callback(nb::object function, std::function<void(double)> progress)
      : function_(std::move(function)), progress_(std::move(progress)) {}

  void on_start(const RunPlan& plan) override {
    steps_ = std::max<Index>(1, plan.config.max_iters);
  }
  void on_step(const StepMetrics& metrics) override {
    progress_(static_cast<double>(metrics.iteration + 1) / static_cast<double>(steps_));
    const nb::gil_scoped_acquire lock;
    nb::dict values;
    values["iteration"] = metrics.iteration;
    values["loss"] = metrics.loss;
    values["learning_rate"] = metrics.learning_rate;
    values["gradient_norm"] = metrics.gradient_norm;
    values["tokens"] = metrics.tokens;
    values["seconds"] = metrics.seconds;
    call(values);
  }

  void on_evaluation(const EvaluationMetrics& metrics) override {
    const nb::gil_scoped_acquire lock;
    nb::dict values;
    values["iteration"] = metrics.iteration;
    values["validation_loss"] = metrics.validation.loss;
    values["bits_per_byte"] = metrics.validation.bits_per_byte;
    values["best"] = metrics.best;
    call(values);
  }

  bool stops() const { return stops_; }
  double rate_factor() const { return rate_factor_; }

 private:
  void call(const nb::dict& values) {
    if (function_.is_none()) {
      return;
    }
    const nb::object answer = function_(values);
    if (nb::isinstance<nb::bool_>(answer)) {
      stops_ = stops_ || !nb::cast<bool>(answer);
    } else if (!answer.is_none()) {
      rate_factor_ = read_value<double>(answer, "callback", "None, False or a factor of the rate");
      require_value(std::isfinite(rate_factor_) && rate_factor_ >= 0, "callback",
                    "expected a factor of the learning rate from 0, got ", rate_factor_);
    }
  }

  nb::object function_;
  std::function<void(double)> progress_;
  Index steps_ = 1;  // of the whole run
  bool stops_ = false;
  double rate_factor_ = 1;
};

// Writes texts as JSON lines beside the checkpoints, so that the run can be resumed.
std::string write_texts(const std::vector<std::string>& texts, const std::string& out_dir) {
  require_value(!texts.empty(), "data", "expected a text or more, got none");
  require(!holds_run(out_dir), out_dir, ": contains a run already; continue it with resume=True");
  std::filesystem::create_directories(out_dir);
  const std::filesystem::path path = std::filesystem::path(out_dir) / "texts.jsonl";
  std::string lines;
  for (const std::string& text : texts) {
    lines += Json{{"text", text}}.dump() + "\n";
  }
  write_file(path, lines);
  return path.string();
}

// Training that the arguments describe.
struct TrainingTask {
  TrainConfig config;
  bool resume = false;
};

// Sets `data` to paths, or to a file with the texts of a list.
void set_data(TrainConfig& config, const nb::object& data, std::vector<std::string>& given) {
  if (data.is_none()) {
    return;
  }
  if (is_list_of_texts(data)) {
    config.data = {write_texts(read_texts(data, "data"), config.out_dir)};
  } else {
    config.data = nb::isinstance<nb::str>(data) ? read_texts(data, "data") : paths_of(data);
    require_value(!config.data.empty(), "data", "expected a path, a list of paths, or texts");
  }
  given.emplace_back("data");
}

TrainingTask task_of(const std::optional<PathInput>& file, const nb::object& data, bool resume,
                     const nb::dict& settings) {
  TrainConfig requested;
  std::vector<std::string> given;
  if (file) {
    const AppliedConfig applied = apply_config_file(requested, file->path);
    given = applied.keys;
    warn(applied.warnings);
  }
  const std::vector<std::string> keys = set_settings(requested, settings);
  given.insert(given.end(), keys.begin(), keys.end());
  const bool sets_steps = std::ranges::find(keys, "max_iters") != keys.end();
  requested.epochs = sets_steps ? 0 : requested.epochs;
  set_data(requested, data, given);
  if (!resume) {
    adopt_architecture(requested, given);
    starts_from_model(requested) ? fit_to_fine_tuning(requested, given)
                                 : fit_sizes_to_text(requested, given);
    return {requested, false};
  }
  TrainConfig config = read_run_config(requested.out_dir);
  copy_keys(requested, given, config);
  config.epochs = sets_steps ? 0 : config.epochs;
  return {config, true};
}

TrainedRun train(const std::optional<PathInput>& config, const nb::object& data,
                 const nb::object& callback, bool resume, bool progress,
                 const nb::kwargs& settings) {
  const TrainingTask task = task_of(config, data, resume, settings);
  Callback observer(callback, progress_of("training", progress));
  std::vector<std::string> warnings;
  const auto add_warning = [&](const std::string& line) { warnings.push_back(line); };
  HeadTracker tracker(task.config.track_heads, add_warning);
  SampleWriter samples(add_warning);
  RunResult result;
  {
    const nb::gil_scoped_release released;
    result = run_training(task.config, {.resume = task.resume,
                                        .observers = {&observer, &tracker, &samples},
                                        .stop_requested =
                                            [&] {
                                              check_signals();
                                              return observer.stops();
                                            },
                                        .rate_factor = [&] { return observer.rate_factor(); }});
  }
  warn(warnings);
  return {result.directory, result};
}

}  // namespace

void add_training(nb::module_& module) {
  module.def(
      "train", &train, "config"_a = nb::none(), nb::kw_only(), "data"_a = nb::none(),
      "callback"_a = nb::none(), "resume"_a = false, "progress"_a = true, "settings"_a,
      nb::sig("def train(config: str | os.PathLike[str] | None = None, *, data: str | "
              "os.PathLike[str] | list[str] | list[os.PathLike[str]] | None = None, callback: "
              "collections.abc.Callable[[dict[str, typing.Any]], typing.Any] | None = None, "
              "resume: bool = False, progress: bool = True, **settings: typing.Any) -> Run"),
      "Trains a model, as `headlight train` does.\n\n"
      "Parameters\n----------\n"
      "config : a TOML file with settings.\n"
      "data : a path, a list of pathlib.Path, or a list of texts, each a document.\n"
      "callback : called with the metrics of every step (loss in nats ...) and evaluation "
      "(validation_loss ...). False stops the run; a number multiplies the scheduled learning rate "
      "from then on.\n"
      "resume : continue the run in out_dir.\n"
      "settings : keys of `headlight train --help all`, such as out_dir, n_layer, max_iters.\n\n"
      "Raises\n------\n"
      "ArithmeticError : the loss is not finite, or the run diverged.\n"
      "OSError : a checkpoint cannot be saved.");
}

}  // namespace headlight::python
