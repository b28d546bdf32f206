#include "runs/state_json.h"
#include "runs/resume_plan.h"
#include "support/test.h"
#include "train/spike_detector.h"

namespace training_state_test {
std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t place = text.find(what);
  REQUIRE(place != std::string::npos);
  return text.replace(place, what.size(), with);
}

// State of a run after 3 epochs of 4 batches and one more batch, at 2 batches a step.
TrainingState state_of_run() {
  TrainingState state{.iteration = 7, .optimizer_steps = 5, .best_iteration = 4, .evaluated = 6};
  state.data = {.seed = 3, .epoch = 3, .batch = 1, .batches_per_epoch = 4, .tokens = 99};
  state.history = {.data_start = {.update = 3, .batch = 5}, .skipped = 2, .skipped_in_row = 1};
  state.changes = {{.iteration = 3, .key = "batch_size", .before = "2", .after = "4"}};
  state.config = "seed = 3\ngradient_accumulation_steps = 2\n";
  state.build = "b";
  return state;
}

// Returns the error for the state of a run after `change`; empty if it is accepted.
template <class Change>
std::string refusal_of_change(const Change& change) {
  TrainingState state = state_of_run();
  change(state);
  return error_of([&] { parse_state_json(to_state_json(state), "s"); });
}

TEST_CASE("the state of a run reads back as it was written", "[train]") {
  TrainingState state;
  state.iteration = 7;
  state.optimizer_steps = 5;
  state.best_validation_loss = 1.1;
  state.best_iteration = 4;
  state.evaluated = 6;
  state.learning_rate = 0.1;
  state.data = {.seed = 3,
                .epoch = 2,
                .batch = 3,
                .batches_per_epoch = 4,
                .tokens = 99,
                .validation_tokens = 9};
  state.history.data_start = {.update = 3, .batch = 5};
  state.changes = {{.iteration = 3, .key = "data", .before = "\"a\"", .after = "\"b\""}};
  state.history.data_shift = 2;
  state.history.skipped = 2;
  state.history.skipped_in_row = 1;
  state.history.rollbacks = 1;
  state.history.recent_losses = {0.1, 1.0 / 3};
  state.config = "seed = 3\nn_layer = 2\n";
  state.build = "b";
  state.cpu_variant = "v3";
  state.products = "Headlight";
  const TrainingState read = parse_state_json(to_state_json(state), "state.json");
  CHECK(to_state_json(read) == to_state_json(state));
  CHECK(read.optimizer_steps == 5);
  CHECK(read.products == "Headlight");
  CHECK(read.data.batch == 3);
  CHECK(read.data.validation_tokens == 9);
  CHECK(read.history.data_shift == 2);
  CHECK(read.history.data_start == DataStart{.update = 3, .batch = 5});
  REQUIRE(read.changes.size() == 1);
  CHECK(read.changes[0].after == "\"b\"");
  CHECK(read.history.recent_losses == state.history.recent_losses);
  CHECK(read.best_iteration == 4);
  CHECK(read.evaluated == 6);
}

TEST_CASE("a state keeps the latest of very many changes", "[train]") {
  TrainingState state{.iteration = 1200};
  for (Index i = 0; i < 1200; ++i) {
    state.changes.push_back({.iteration = i, .key = "seed", .before = "1", .after = "2"});
  }
  const TrainingState read = parse_state_json(to_state_json(state), "s");
  REQUIRE(read.changes.size() == 1000);
  CHECK(read.changes.back().iteration == 1199);
}

TEST_CASE("an invalid state is refused naming the member", "[train]") {
  const std::string good = to_state_json({.iteration = 7});
  const auto refusal = [&](const std::string& what, const std::string& with) {
    try {
      parse_state_json(replaced(good, what, with), "s");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal("\"version\": 4", "\"version\": 5") == "s: version: expected 4, got 5");
  CHECK(refusal("\"version\": 4", "\"version\": 3") == "s: version: expected 4, got 3");
  CHECK(refusal("\"changes\": []", "\"changes\": [1]").starts_with("s: changes: "));
  CHECK(refusal("\"changes\": []", "\"changes\": 1")
            .starts_with("s: changes: expected a list of at most "));
  CHECK(refusal("\"iteration\": 7", "\"iteration\": -7") ==
        "s: iteration: expected a whole number of at least 0");
  CHECK(refusal("\"iteration\": 7", "\"iteration\": 18446744073709551615") ==
        "s: iteration: expected a whole number of at least 0");
  CHECK(refusal("\"skipped\": 0", "\"skipped\": 0.5") ==
        "s: history: skipped: expected a whole number of at least 0");
  CHECK(refusal("\"recent_losses\": []", "\"recent_losses\": [\"x\"]") ==
        "s: history: recent_losses: expected numbers");
  CHECK(refusal("\"recent_losses\": []", "\"recent_losses\": 1")
            .starts_with("s: history: recent_losses: expected a list of at most "));
  CHECK(refusal("\"best_validation_loss\": null", "\"best_validation_loss\": \"low\"") ==
        "s: best_validation_loss: expected a number or null");
  CHECK(contains(refusal("\"config\": \"\"", "\"config\": 1"), "config"));
}

TEST_CASE("numbers of a run's state that contradict each other are refused by name", "[train]") {
  CHECK(refusal_of_change([](TrainingState&) {}) == "no error");
  const std::string remedy = "; use a checkpoint that is not damaged";
  const std::string position =
      ", by iteration, data_start, data_shift and gradient_accumulation_steps of config, got ";
  const auto check = [&](const auto& change, const std::string& expected) {
    CHECK(refusal_of_change(change) == "s: " + expected + remedy);
  };
  check([](auto& state) { state.best_iteration = 8; },
        "best_iteration: expected at most 7, which is iteration, got 8");
  check([](auto& state) { state.evaluated = 9; },
        "evaluated: expected at most 7, which is iteration, got 9");
  check([](auto& state) { state.learning_rate = -1; },
        "learning_rate: expected at least 0, got -1");
  check([](auto& state) { state.history.skipped = 8; },
        "history: skipped: expected at most 7, which is iteration, got 8");
  check([](auto& state) { state.history.skipped_in_row = 3; },
        "history: skipped_in_row: expected at most 2, which is skipped, got 3");
  check([](auto& state) { state.history.recent_losses.assign(8, 1); },
        "history: recent_losses: count: expected at most 7, which is iteration, got 8");
  check([](auto& state) { state.optimizer_steps = 6; },
        "optimizer_steps: expected at most 5, which is iteration without skipped, got 6");
  check([](auto& state) { state.optimizer_steps = 4; },
        "optimizer_steps: expected 5, which is iteration without skipped, got 4");
  check([](auto& state) { state.changes[0].iteration = 8; },
        "changes: iteration: expected at most 7, which is iteration, got 8");
  check([](auto& state) { state.changes.push_back({.iteration = 2}); },
        "changes: iteration: expected at least 3, that of the change before it, got 2");
  check([](auto& state) { state.history.data_start.update = 8; },
        "history: data_start: update: expected at most 7, which is iteration and data_shift, "
        "got 8");
  check([](auto& state) { state.history.data_shift = 1; },
        "history: data_shift: expected 0, since rollbacks is 0, got 1");
  check([](auto& state) { state.data.tokens = 0; }, "data: tokens: expected at least 1, got 0");
  check([](auto& state) { state.data.batch = 4; },
        "data: batch: expected less than 4, which is batches_per_epoch, got 4");
  check([](auto& state) { state.data.seed = 4; },
        "data: seed: expected 3, which is the seed of config, got 4");
  check([](auto& state) { state.data.epoch = 2; }, "data: epoch: expected 3" + position + "2");
  check([](auto& state) { state.data.batch = 2; }, "data: batch: expected 1" + position + "2");
}

TEST_CASE("valid states after rollbacks and optimizer changes are accepted", "[train]") {
  const auto is_accepted = [](const auto& change) {
    return refusal_of_change(change) == "no error";
  };
  // Moments of another optimizer start at zero.
  for (const char* key : {"optimizer", "momentum"}) {
    CHECK(is_accepted([&](TrainingState& state) {
      state.changes[0].key = key;
      state.optimizer_steps = 2;
    }));
  }
  // A rollback to before the changes of the last resume.
  CHECK(is_accepted([](TrainingState& state) {
    state.history.data_start.update = 8;
    state.history.data_shift = 5;
    state.history.rollbacks = 1;
    state.changes[0].iteration = 8;
  }));
  // A user of the library who saves only the step number.
  CHECK(is_accepted([](TrainingState& state) { state = {.iteration = 7}; }));
}

TEST_CASE("very large numbers in a state are refused, not computed with", "[train]") {
  constexpr Index kLarge = Index{1} << 48;
  CHECK(refusal_of_change([](TrainingState& state) {
          state.history.data_shift = kLarge;
          state.history.rollbacks = 1;
        }).starts_with("s: history: data_shift: expected a number of steps that a run can"));
}

TEST_CASE("another build, CPU variant or products are noticed", "[train]") {
  CHECK(build_warnings({}).empty());
  TrainingState state;
  state.build = build_description();
  state.cpu_variant = std::string(cpu_variant_name());
  state.products = products_description();
  CHECK(build_warnings(state).empty());
  state.build = "0.0.1";
  state.cpu_variant = "v0";
  state.products = "an abacus";
  const auto warnings = build_warnings(state);
  REQUIRE(warnings.size() == 3);
  CHECK(warnings[0].find("0.0.1, now " + build_description()) != std::string::npos);
  CHECK(contains(warnings[1], "v0, now "));
  CHECK(warnings[2] == "--resume: the checkpoint was written with products by an abacus, now " +
                           products_description() + ": rounding may differ");
}

TEST_CASE(
    "a loss spike is measured by its distance from the last 128 losses in standard deviations",
    "[train]") {
  std::vector<double> recent;
  for (int i = 0; i < 127; ++i) {
    remember_loss(recent, i % 2 == 0 ? 1.0 : 3.0);
  }
  CHECK(spike_score(recent, 100) == 0);
  remember_loss(recent, 3.0);
  CHECK(spike_score(recent, 7) == Approx(5));  // mean 2, standard deviation 1
  CHECK(spike_score(recent, 1) == Approx(-1));
  remember_loss(recent, 9);
  CHECK(recent.size() == 128);
  CHECK(recent.front() == 3.0);
  CHECK(spike_score(std::vector<double>(128, 2.0), 50) == 0);
}
}  // namespace training_state_test
