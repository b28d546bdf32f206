#include "runs/run_directory.h"
#include "runs/saved_run.h"
#include "support/test.h"

void save(Learner& learner, RunDirectory& directory, Index iteration, bool best = false) {
  const TrainingState state{.iteration = iteration};
  directory.prepare(learner.model, learner.optimizer);
  directory.save({learner.model, learner.tokenizer, learner.optimizer, state}, best, [] {});
}

constexpr bool kWait = true;

TEST_CASE("a run directory that is never used is left as it was found") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "a" / "run";
  { const RunDirectory directory(run, {}); }
  CHECK(!fs::exists(run));
  fs::create_directories(run);
  { const RunDirectory directory(run, {}); }
  CHECK(fs::is_empty(run));
  { RunDirectory(run, {}).begin("seed = 1\n"); }
  CHECK(fs::exists(run / "config.toml"));
}

TEST_CASE("a run directory is held by one run") {
  const TemporaryFolder folder;
  const RunDirectory directory(folder.path() / "run", {});
  CHECK_THROWS_AS(RunDirectory(folder.path() / "run", {}), LockedError);
}

TEST_CASE("a checkpoint holds the weights at the time of the request") {
  const TemporaryFolder folder;
  const bool in_background = GENERATE(true, false);
  RunDirectory directory(folder.path() / "run", {.keep = 1, .in_background = in_background});
  directory.begin("");
  Learner learner;
  CHECK(directory.last_saved() == -1);
  const float before = learner.weight();
  save(learner, directory, 1, true);
  CHECK(directory.last_saved() == 1);
  CHECK((in_background || fs::exists(directory.path() / "step_00000001")));
  learner.weight() = before + 1;
  const std::vector<SaveEvent> events = directory.take_events(kWait);
  REQUIRE(events.size() == 1);
  CHECK(events[0].checkpoint == directory.path() / "step_00000001");
  CHECK(directory.take_events(kWait).empty());
  save(learner, directory, 2);
  save(learner, directory, 3);
  CHECK(directory.take_events(kWait).size() == 2);
  CHECK(fs::read_symlink(directory.path() / "latest") == "step_00000003");
  CHECK(fs::read_symlink(directory.path() / "best") == "step_00000001");
  CHECK(!fs::exists(directory.path() / "step_00000002"));
  const LoadedModel saved = load_model(directory.path() / "best");
  CHECK(saved.model->parameters()[0].second.data<float>()[0] == before);
}

TEST_CASE("a checkpoint that cannot be saved stops the run or causes a warning") {
  const TemporaryFolder folder;
  const bool in_background = GENERATE(true, false);
  for (const bool stops : {true, false}) {
    RunDirectory directory(folder.path() / (stops ? "stops" : "goes_on"),
                           {.stops_on_error = stops, .in_background = in_background});
    directory.begin("");
    Learner learner;
    save(learner, directory, 1);
    CHECK(directory.take_events(kWait).size() == 1);
    learner.weight() = std::numeric_limits<float>::infinity();
    save(learner, directory, 2);
    const std::string warning = "cannot save " + (directory.path() / "step_00000002").string();
    if (stops) {
      CHECK_THROWS_AS(directory.take_events(kWait), SaveError);
    } else {
      const std::vector<SaveEvent> events = directory.take_events(kWait);
      REQUIRE(events.size() == 1);
      CHECK(events[0].checkpoint.empty());
      CHECK_THAT(events[0].warning,
                 contains_text(warning) && contains_text("the last complete one is"));
    }
    CHECK(directory.last_saved() == 1);
  }
}

TEST_CASE("a resumed run skips damaged checkpoints and repairs the links") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  Learner learner;
  {
    RunDirectory directory(run, {.keep = 3});
    directory.begin("");
    for (const Index iteration : {1, 2, 3}) {
      save(learner, directory, iteration);
    }
  }
  fs::resize_file(run / "step_00000003" / "state.json", 3);
  RunDirectory directory(run, {.keep = 2});
  std::vector<std::string> skipped;
  const fs::path newest = find_latest_checkpoint(run, skipped);
  CHECK(newest == run / "step_00000002");
  CHECK(skipped.size() == 1);
  CHECK(directory.resume_from(newest, {.iteration = 2}).empty());
  CHECK(directory.last_saved() == 2);
  CHECK(fs::read_symlink(run / "latest") == "step_00000002");
  save(learner, directory, 4);
  directory.take_events(kWait);
  CHECK(!fs::exists(run / "step_00000001"));
  CHECK(fs::exists(run / "step_00000002"));
  CHECK(!fs::exists(run / "step_00000003"));
  CHECK(fs::exists(run / "step_00000004"));
}
