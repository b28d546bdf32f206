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
  double number(const char* key, double otherwise) const {
    const Json& value = at(key);
    require(value.is_number() || value.is_null(), where_, ": ", key, ": expected a number or null");
    return value.is_number() ? value.number() : otherwise;
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

// Throws Error unless the position in the data follows from the other numbers: the run would skip
// or repeat data. Users of the library, who give no build, may save little more than the step
// number.
void require_consistent(const TrainingState& state, const std::string& where) {
  const DataPosition& data = state.data;
  if (state.build.empty() || data.batches_per_epoch == 0) {
    return;
  }
  const UpdateHistory& history = state.history;
  const TrainConfig config = settings_of(state, where);
  const Index updates = state.iteration + history.data_shift - history.data_start.update;
  const bool is_possible =
      updates >= 0 && updates <= kLargestStored / config.gradient_accumulation_steps;
  const Index batches = is_possible ? updates * config.gradient_accumulation_steps : 0;
  const Index next = history.data_start.batch + batches;
  require(is_possible && data.seed == config.seed && data.epoch == next / data.batches_per_epoch &&
              data.batch == next % data.batches_per_epoch,
          where, ": data: expected the seed of config, and epoch and batch as they follow from ",
          "iteration, history and config; use a checkpoint that is not damaged");
}

}  // namespace

std::string to_state_json(const TrainingState& state) {
  Json json{{"version", kVersion},
            {"iteration", state.iteration},
            {"optimizer_steps", state.optimizer_steps},
            {"learning_rate", state.learning_rate},
            {"best_validation_loss", nullptr},
            {"best_iteration", state.best_iteration},
            {"evaluated", state.evaluated},
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
  state.learning_rate = members.number("learning_rate", 0);
  state.data = read_data(members.object("data"));
  state.history = read_history(members.object("history"));
  state.changes = read_changes(members);
  state.build = members.text("build");
  state.cpu_variant = members.text("cpu_variant");
  state.products = members.text("products");
  require_consistent(state, where);
  return state;
}

}  // namespace headlight
