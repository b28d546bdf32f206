#include "course/induction/show.h"
#include "course/lab.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kUpdates = 1500;
constexpr Index kUpdatesFull = 2000;  // as in configs/induction.toml
constexpr Index kStarts = 2;
constexpr Index kStartsFull = 5;

}  // namespace

void declare_induction(Options& options) {
  declare_training(options);
  options.value("model", "Inspect this model instead of training one").base();
  options.paths({"model"});
}

void run_induction(const Settings& settings, Report& report) {
  const bool is_given = !settings.model.empty();
  const Index updates = settings.updates(kUpdates, kUpdatesFull);
  const Subject subject = is_given ? read_subject(settings.model, settings.options)
                                   : train_subject(updates, settings.seed);
  std::vector<StartFinding> starts{{settings.seed, measure(subject, settings.full, settings.seed)}};
  const Index count = is_given ? 1 : settings.full ? kStartsFull : kStarts;
  for (std::uint64_t seed = settings.seed + 1; std::ssize(starts) < count; ++seed) {
    starts.push_back({seed, measure(train_subject(updates, seed), settings.full, seed)});
  }
  Json& values = report.values();
  values["model"] = is_given ? Json(settings.model) : Json();
  values["updates"] = is_given ? Json() : Json(updates);
  values["second_copy_by_update"] = {{"updates", subject.updates}, {"loss", subject.second_copy}};
  for (const StartFinding& start : starts) {
    Json found = json_of(start.findings);
    found["seed"] = start.seed;
    values["starts"].push_back(found);
  }
  show_findings(starts, subject, report);
  claim_findings(starts, is_given ? TrainingLength() : TrainingLength{updates, kUpdates}, report);
  draw_findings(starts.front().findings, subject, report);
}

}  // namespace headlight::cli::lab
