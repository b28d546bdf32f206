#include "runs/state_json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/json.h"
#include "headlight/base/error.h"
#include "runs/resume_plan.h"
#include "train/spike_detector.h"

namespace headlight {
namespace {

constexpr int kVersion = 4;
constexpr Index kLargestStored = Index{1} << 48;
constexpr std::size_t kMostChanges = 1000;

class Members {
 public:
  Members(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  const Json& at(const char* key) const { return json_member(object_, key, where_); }
  bool has(const char* key) const { return object_.contains(key); }
  std::string text(const char* key) const { return json_string(object_, key, where_); }
  Members object(const char* key) const { return {at(key), where_ + ": " + key}; }
  std::vector<Members> objects(const char* key, std::size_t most) const {
    std::vector<Members> result;
    for (const Json& value : list(key, most)) {
      result.emplace_back(value, where_ + ": " + key);
    }
    return result;
  }
  // Returns an integer from `least` to `most`.
  Index count(const char* key, Index least = 0, Index most = kLargestStored) const {
    const Json& value = at(key);
    const Index number = value.is_integer() ? value.integer() : least - 1;
    require(number >= least && number <= most, where_, ": ", key,
            ": expected a whole number of at least ", least);
    return number;
  }
  double number(const char* key, double fallback) const {
    const Json& value = at(key);
    require(value.is_number() || value.is_null(), where_, ": ", key, ": expected a number or null");
    return value.is_number() ? value.number() : fallback;
  }
  std::vector<double> numbers(const char* key, std::size_t most) const {
    std::vector<double> result;
    for (const Json& value : list(key, most)) {
      require(value.is_number(), where_, ": ", key, ": expected numbers");
      result.push_back(value.number());
    }
    return result;
  }

 private:
  const Json& list(const char* key, std::size_t most) const {
    const Json& values = at(key);
    require(values.is_array() && values.size() <= most, where_, ": ", key,
            ": expected a list of at most ", most);
    return values;
  }

  const Json& object_;
  std::string where_;
};

DataPosition read_data(const Members& data) {
  return {.seed = data.count("seed", 0, std::numeric_limits<Index>::max()),
          .epoch = data.count("epoch"),
          .batch = data.count("batch"),
          .batches_per_epoch = data.count("batches_per_epoch"),
          .tokens = data.count("tokens"),
          .validation_tokens = data.count("validation_tokens"),
          .content = data.text("content"),
          .validation_content = data.text("validation_content")};
}

std::vector<SettingChange> read_changes(const Members& state) {
  std::vector<SettingChange> changes;
  for (const Members& change : state.objects("changes", kMostChanges)) {
    changes.push_back({.iteration = change.count("iteration"),
                       .key = change.text("key"),
                       .before = change.text("before"),
                       .after = change.text("after")});
  }
  return changes;
}

UpdateHistory read_history(const Members& history) {
  const Members start = history.object("data_start");
  return {.data_start = {.update = start.count("update"), .batch = start.count("batch")},
          .data_shift = history.count("data_shift"),
          .skipped = history.count("skipped"),
          .skipped_in_row = history.count("skipped_in_row"),
          .rollbacks = history.count("rollbacks"),
          .recent_losses = history.numbers("recent_losses", kSpikeWindow)};
}

Json to_json(const DataPosition& data) {
  return {{"seed", data.seed},       {"epoch", data.epoch},
          {"batch", data.batch},     {"batches_per_epoch", data.batches_per_epoch},
          {"tokens", data.tokens},   {"validation_tokens", data.validation_tokens},
          {"content", data.content}, {"validation_content", data.validation_content}};
}

Json to_json(const UpdateHistory& history) {
  const DataStart& start = history.data_start;
  return {{"data_start", {{"update", start.update}, {"batch", start.batch}}},
          {"data_shift", history.data_shift},
          {"skipped", history.skipped},
          {"skipped_in_row", history.skipped_in_row},
          {"rollbacks", history.rollbacks},
          {"recent_losses", history.recent_losses}};
}

// Writes only the latest changes, as many as can be read back.
Json to_json(const std::vector<SettingChange>& changes) {
  auto list = Json::array();
  const std::size_t dropped = changes.size() - std::min(changes.size(), kMostChanges);
  for (const SettingChange& change : std::span(changes).subspan(dropped)) {
    list.push_back({{"iteration", change.iteration},
                    {"key", change.key},
                    {"before", change.before},
                    {"after", change.after}});
  }
  return list;
}

// Checks the numbers of a state against each other. Users of the library may save little more than
// the step number; runs save a complete state with the program's build.
class Consistency {
 public:
  Consistency(const TrainingState& state, const std::string& where)
      : state_(state), history_(state.history), where_(where) {}

  void check() const {
    check_updates();
    check_changes();
    check_data_start();
    const bool is_of_run = !state_.build.empty();
    if (is_of_run) {
      check_optimizer_steps();
    }
    if (is_of_run && state_.data.batches_per_epoch > 0) {
      check_data();
    }
  }

 private:
  template <class... Expected>
  void expect(bool holds, const char* member, Index got, const Expected&... expected) const {
    require(holds, where_, ": ", member, ": expected ", expected..., ", got ", got,
            "; use a checkpoint that is not damaged");
  }

  void expect_at_most(Index most, const char* what, const char* member, Index got) const {
    expect(got <= most, member, got, "at most ", most, ", which is ", what);
  }

  void check_updates() const {
    const Index done = state_.iteration;
    expect_at_most(done, "iteration", "best_iteration", state_.best_iteration);
    expect_at_most(done, "iteration", "evaluated", state_.evaluated);
    expect_at_most(done, "iteration", "history: skipped", history_.skipped);
    expect_at_most(history_.skipped, "skipped", "history: skipped_in_row", history_.skipped_in_row);
    expect_at_most(done, "iteration", "history: recent_losses: count",
                   std::ssize(history_.recent_losses));
    require(state_.learning_rate >= 0, where_, ": learning_rate: expected at least 0, got ",
            state_.learning_rate, "; use a checkpoint that is not damaged");
  }

  // After a rollback to before a change, the change stays, with a later step than the state's.
  void check_changes() const {
    if (history_.rollbacks > 0) {
      return;
    }
    Index earliest = 0;
    for (const SettingChange& change : state_.changes) {
      expect_at_most(state_.iteration, "iteration", "changes: iteration", change.iteration);
      expect(change.iteration >= earliest, "changes: iteration", change.iteration, "at least ",
             earliest, ", that of the change before it");
      earliest = change.iteration;
    }
  }

  // Returns the steps of data used since data_start. After a rollback data_start may be a later
  // step than the checkpoint's; data_shift compensates for it.
  Index updates_of_data() const {
    return state_.iteration + history_.data_shift - history_.data_start.update;
  }

  void check_data_start() const {
    expect_at_most(state_.iteration + history_.data_shift, "iteration and data_shift",
                   "history: data_start: update", history_.data_start.update);
    expect(history_.data_shift == 0 || history_.rollbacks > 0, "history: data_shift",
           history_.data_shift, "0, since rollbacks is 0");
  }

  // The count restarts at zero when the optimizer changes. That change may be missing from a list
  // that was shortened.
  void check_optimizer_steps() const {
    const Index made = state_.iteration - history_.skipped;
    constexpr const char* kMade = "iteration without skipped";
    expect_at_most(made, kMade, "optimizer_steps", state_.optimizer_steps);
    const bool may_begin_anew =
        state_.changes.size() >= kMostChanges ||
        std::any_of(state_.changes.begin(), state_.changes.end(), [](const SettingChange& change) {
          return change.key == "optimizer" || change.key == "momentum";
        });
    expect(may_begin_anew || state_.optimizer_steps == made, "optimizer_steps",
           state_.optimizer_steps, made, ", which is ", kMade);
  }

  // The position in the data follows from the settings and the steps made.
  void check_data() const {
    constexpr const char* kReason =
        ", by iteration, data_start, data_shift and gradient_accumulation_steps of config";
    const DataPosition& data = state_.data;
    const TrainConfig config = settings_of(state_, where_);
    expect(data.tokens > 0, "data: tokens", data.tokens, "at least 1");
    expect(data.batch < data.batches_per_epoch, "data: batch", data.batch, "less than ",
           data.batches_per_epoch, ", which is batches_per_epoch");
    expect(data.seed == config.seed, "data: seed", data.seed, config.seed,
           ", which is the seed of config");
    const Index updates = updates_of_data();
    expect(updates <= kLargestStored / config.gradient_accumulation_steps, "history: data_shift",
           history_.data_shift, "a number of steps that a run can make");
    const Index next = history_.data_start.batch + updates * config.gradient_accumulation_steps;
    const Index epoch = next / data.batches_per_epoch;
    expect(data.epoch == epoch, "data: epoch", data.epoch, epoch, kReason);
    const Index batch = next % data.batches_per_epoch;
    expect(data.batch == batch, "data: batch", data.batch, batch, kReason);
  }

  const TrainingState& state_;
  const UpdateHistory& history_;
  const std::string& where_;
};

}  // namespace

std::string to_state_json(const TrainingState& state) {
  Json json{{"version", kVersion},
            {"iteration", state.iteration},
            {"optimizer_steps", state.optimizer_steps},
            {"learning_rate", state.learning_rate},
            {"best_validation_loss", nullptr},
            {"best_iteration", state.best_iteration},
            {"evaluated", state.evaluated},
            {"without_better", state.without_better},
            {"data", to_json(state.data)},
            {"history", to_json(state.history)},
            {"changes", to_json(state.changes)},
            {"build", state.build},
            {"cpu_variant", state.cpu_variant},
            {"products", state.products},
            {"config", state.config}};
  if (std::isfinite(state.best_validation_loss)) {
    json["best_validation_loss"] = state.best_validation_loss;
  }
  // Paths in the configuration may contain any bytes.
  return json.dump(2) + "\n";
}

TrainingState parse_state_json(const std::string& text, const std::string& where) {
  const Json json = parse_json(text, where);
  const Members members(json, where);
  TrainingState state;
  const Index version = members.count("version");
  require(version == kVersion, where, ": version: expected ", kVersion, ", got ", version);
  state.iteration = members.count("iteration");
  state.best_validation_loss =
      members.number("best_validation_loss", std::numeric_limits<double>::infinity());
  state.config = members.text("config");
  state.optimizer_steps = members.count("optimizer_steps");
  state.best_iteration = members.count("best_iteration", -1);
  state.evaluated = members.count("evaluated", -1);
  state.without_better = members.has("without_better") ? members.count("without_better", -1) : -1;
  state.learning_rate = members.number("learning_rate", 0);
  state.data = read_data(members.object("data"));
  state.history = read_history(members.object("history"));
  state.changes = read_changes(members);
  state.build = members.text("build");
  state.cpu_variant = members.text("cpu_variant");
  state.products = members.text("products");
  Consistency(state, where).check();
  return state;
}

}  // namespace headlight
