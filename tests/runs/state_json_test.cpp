#include "runs/state_json.h"
#include "runs/resume_plan.h"
#include "support/rows.h"
#include "support/test.h"
#include "train/spike_detector.h"

json state_of_run() {
  return json::parse(file_contents(HEADLIGHT_SOURCE_DIR "/tests/runs/state.json"));
}

TEST_CASE("the state of a run is written as it was read") {
  for (const char* changes :
       {"/version 4", "/history/data_shift 1\n/history/rollbacks 1\n/data/batch 3"}) {
    const json state = changed_json(state_of_run(), changes);
    CHECK(json::parse(to_state_json(parse_state_json(state.dump(), "s"))) == state);
  }
  // A user of the library who saves only the step number.
  CHECK_NOTHROW(parse_state_json(to_state_json({.iteration = 7}), "s"));
}

TEST_CASE("an invalid state, or one that contradicts itself, is refused by name") {
  const json state = state_of_run();
  check_rows("runs/state_changes.txt", [&](const Row& row) {
    const std::string text = changed_json(state, row.given).dump();
    return error_behind("s: ", [&] { parse_state_json(text, "s"); });
  });
}

TEST_CASE("a state keeps the latest of very many changes") {
  TrainingState state{.iteration = 1200};
  for (Index i = 0; i < 1200; ++i) {
    state.changes.push_back({.iteration = i, .key = "seed", .before = "1", .after = "2"});
  }
  const TrainingState read = parse_state_json(to_state_json(state), "s");
  REQUIRE(read.changes.size() == 1000);
  CHECK(read.changes.back().iteration == 1199);
}

TEST_CASE("another build, CPU variant or products are noticed") {
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
    "a loss spike is measured by its distance from the last 128 losses in standard deviations") {
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
