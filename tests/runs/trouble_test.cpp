#include <unistd.h>
#include <new>

#include "headlight/runs/run.h"
#include "runs/small_run.h"
#include "support/test.h"

// Handling of non-finite losses and of failures to save.

// Sets a weight to NaN after given steps, once each, to simulate memory errors.
class Poison : public TrainObserver {
 public:
  explicit Poison(std::vector<Index> after) : after_(std::move(after)) {}

  void on_start(const RunPlan& plan) override { weight_ = plan.model.parameters()[0].second; }
  void on_step(const StepMetrics& metrics) override {
    skipped += metrics.outcome == StepOutcome::skipped ? 1 : 0;
    if (!after_.empty() && metrics.iteration == after_.front()) {
      after_.erase(after_.begin());
      weight_.data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  void on_rollback(const RollbackMetrics& metrics) override { rollbacks.push_back(metrics); }
  void on_warning(const std::string& text) override { warnings.push_back(text); }

  Index skipped = 0;
  std::vector<RollbackMetrics> rollbacks;
  std::vector<std::string> warnings;

 private:
  std::vector<Index> after_;
  Tensor weight_;
};

// A run that is poisoned after these steps, by default one that returns to its last checkpoint.
struct PoisonedRun {
  explicit PoisonedRun(std::vector<Index> after, const std::string& on_nan = "rollback")
      : poison(std::move(after)) {
    config.on_nan = on_nan;
  }
  RunResult run() { return run_training(config, {.observers = {&poison}}); }

  TemporaryFolder folder;
  TrainConfig config = small_run_config(folder, "a");
  Poison poison;
};

TEST_CASE("a rollback returns to the last checkpoint and continues with other data") {
  PoisonedRun given({5});
  const std::string& run = given.config.out_dir;
  const RunResult result = given.run();
  CHECK(result.iterations == 12);
  REQUIRE(given.poison.rollbacks.size() == 1);
  CHECK(given.poison.rollbacks[0].iteration == 4);
  CHECK(given.poison.rollbacks[0].from == 6);
  CHECK(contains(given.poison.rollbacks[0].reason, "not finite"));
  const TrainingState state = read_training_state(fs::path(run) / "latest");
  CHECK(state.history.rollbacks == 1);
  CHECK(state.history.data_shift == 3);  // the data of steps 4, 5 and 6 is skipped
  CHECK(state.optimizer_steps == 12);
  CHECK(std::isfinite(result.best_validation_loss));
  Index lines = 0;
  for (const json& line : metrics_of(run)) {
    lines += line.contains("loss") ? 1 : 0;
    CHECK((!line.contains("rollback_from") || line["iteration"] == 4));
  }
  CHECK(lines == 12);

  PoisonedRun again({5});
  again.run();
  CHECK(weights_of(run) == weights_of(again.config.out_dir));
  CHECK(metrics_of(run) == metrics_of(again.config.out_dir));
  PoisonedRun undisturbed({});
  undisturbed.run();
  CHECK(weights_of(run) != weights_of(undisturbed.config.out_dir));
}

TEST_CASE("a rollback also returns to the moving average") {
  PoisonedRun runs[] = {PoisonedRun({5}), PoisonedRun({5}), PoisonedRun({5})};
  const auto trained = [&](std::size_t run, double decay) {
    runs[run].config.ema_decay = decay;
    runs[run].run();
    CHECK(runs[run].poison.rollbacks.size() == 1);
    return runs[run].config.out_dir;
  };
  const std::string run = trained(0, 0.9);
  CHECK(weights_of(run) == weights_of(trained(1, 0.9)));
  // The average changes no weight: training continues from the same weights as a plain run.
  const auto moments = read_safetensors(fs::path(run) / "latest" / "optimizer.safetensors");
  const auto plain = load_weights(fs::path(trained(2, 0)) / "latest");
  Index compared = 0;
  for (const auto& [name, tensor] : plain->parameters()) {
    for (const auto& [other, kept] : moments) {
      if (other == "trained." + name) {
        CHECK(kept.to_vector() == tensor.to_vector());
        ++compared;
      }
    }
  }
  CHECK(compared == std::ssize(plain->parameters()));
}

TEST_CASE("a rollback after a change of settings keeps the change and its data") {
  const TemporaryFolder folder;
  TrainConfig config = small_run_config(folder, "a");
  config.max_iters = 8;
  run_training(config);
  config.max_iters = 12;
  config.batch_size = 3;
  config.on_nan = "rollback";
  Poison poison({9});
  run_training(config, {.resume = true, .observers = {&poison}});
  REQUIRE(poison.rollbacks.size() == 1);
  CHECK(poison.rollbacks[0].iteration == 8);
  const TrainingState state = read_training_state(folder.path() / "a" / "latest");
  CHECK(state.history.data_start == DataStart{.update = 8, .batch = 8});
  CHECK(state.history.data_shift == 3);  // the data of steps 8, 9 and 10 is skipped
  REQUIRE(!state.changes.empty());
  CHECK(state.changes[0].key == "batch_size");
  const Index told = sum_of<Index>(metrics_of(config.out_dir), [&](const json& line) {
    return line.contains("changed") ? 1 : 0;
  });
  CHECK(told == 1);
}

TEST_CASE("metrics keep every return to the same checkpoint") {
  PoisonedRun given({5, 6});
  given.run();
  REQUIRE(given.poison.rollbacks.size() == 2);
  CHECK(given.poison.rollbacks[1].iteration == 4);
  std::vector<Index> from;
  for (const json& line : metrics_of(given.config.out_dir)) {
    if (line.contains("rollback_from")) {
      from.push_back(line["rollback_from"].get<Index>());
    }
  }
  CHECK(from == std::vector<Index>{6, 7});
}

TEST_CASE("a run that may roll back saves a checkpoint at its start") {
  PoisonedRun given({1});
  given.run();
  REQUIRE(given.poison.rollbacks.size() == 1);
  CHECK(given.poison.rollbacks[0].iteration == 0);
}

TEST_CASE("rolling back again and again to one checkpoint ends the run") {
  PoisonedRun given({});
  given.config.max_bad_updates = 2;
  given.config.learning_rate = given.config.min_lr = 1e37;
  given.config.decay_lr = false;
  CHECK_THROWS_WITH(given.run(), contains_text("2 returns to the checkpoint of step 0"));
}

TEST_CASE("bad updates are skipped until there are too many in a row") {
  PoisonedRun given({1}, "skip");
  given.config.max_bad_updates = 3;
  given.config.eval_interval = 100;
  CHECK_THROWS_WITH(given.run(),
                    contains_text("step 5: ") && contains_text("in the 3 steps before"));
  CHECK(given.poison.skipped == 3);
}

TEST_CASE("a loss that is not finite stops a run by default and its checkpoint stays") {
  const TemporaryFolder folder;
  const TrainConfig config = small_run_config(folder, "a");
  Poison poison({5});
  check_error([&] { run_training(config, {.observers = {&poison}}); }, {"step 6: the loss ("});
  std::vector<std::string> skipped;
  CHECK(find_latest_checkpoint(config.out_dir, skipped).filename() == "step_00000004");
}

TEST_CASE("a save that fails stops the run, or is tried again at the next") {
  // Saving fails because the weight is not finite, although no step has used it yet.
  PoisonedRun stops({5}, "skip");
  stops.config.save_interval = 3;
  CHECK_THROWS_AS(stops.run(), SaveError);
  PoisonedRun continues({5}, "skip");
  continues.config.save_interval = 3;
  continues.config.on_save_error = "continue";
  CHECK_THROWS_WITH(continues.run(),
                    contains_text("the checkpoint of the last step could not be saved"));
  REQUIRE(!continues.poison.warnings.empty());
  check_parts(continues.poison.warnings[0],
              {"step_00000006, which takes ", "the last complete one is", "step_00000004"});
}

TEST_CASE("a save that runs out of memory is a failed save") {
  struct Hungry : Poison {
    Hungry() : Poison({}) {}
    void before_checkpoint() override {
      if (first) {
        first = false;
        throw std::bad_alloc();
      }
    }
    bool first = true;
  };
  const TemporaryFolder folder;
  TrainConfig config = small_run_config(folder, "a");
  Hungry stops;
  CHECK_THROWS_AS(run_training(config, {.observers = {&stops}}), SaveError);
  TrainConfig continues = small_run_config(folder, "b");
  continues.on_save_error = "continue";
  Hungry other;
  CHECK(run_training(continues, {.observers = {&other}}).iterations == 12);
  REQUIRE(other.warnings.size() == 1);
  CHECK(contains(other.warnings[0], "step_00000004, which takes "));
}

TEST_CASE("an old checkpoint that cannot be removed is a warning, not a save that fails") {
  // Root ignores file permissions, so that this test needs another user.
  struct AsNobody {
    AsNobody() { changed = ::geteuid() == 0 && ::seteuid(65534) == 0; }
    ~AsNobody() {
      if (changed && ::seteuid(0) != 0) {
        std::abort();
      }
    }
    bool changed = false;
  };
  struct Guard : Poison {
    explicit Guard(fs::path run) : Poison({}), stays(run / "step_00000004/stays") {}
    void on_checkpoint(const fs::path& path) override {
      if (path.filename() == "step_00000004") {
        fs::create_directory(stays);
        std::ofstream(stays / "file") << "x";
        fs::permissions(stays, fs::perms::owner_read);
      }
    }
    fs::path stays;
  };
  const TemporaryFolder folder;
  TrainConfig config = small_run_config(folder, "a");
  config.keep_checkpoints = 1;
  fs::permissions(folder.path(), fs::perms::all);
  {
    const AsNobody nobody;
    Guard guard(config.out_dir);
    CHECK(run_training(config, {.observers = {&guard}}).iterations == 12);
    REQUIRE(!guard.warnings.empty());
    CHECK(guard.warnings[0].find("cannot remove " + config.out_dir + "/step_00000004") == 0);
    CHECK(read_training_state(folder.path() / "a" / "latest").iteration == 12);
    fs::permissions(guard.stays, fs::perms::owner_all);
  }
}

TEST_CASE("loss spikes are skipped on request") {
  const TemporaryFolder folder;
  TrainConfig config = small_run_config(folder, "a");
  config.max_iters = 150;
  config.eval_interval = 150;
  config.skip_spikes = 0.5;
  config.learning_rate = config.min_lr = 1e-6;  // the losses of batches differ but do not fall
  Poison counter({});
  const RunResult result = run_training(config, {.observers = {&counter}});
  CHECK(result.iterations == 150);
  CHECK(counter.skipped > 0);
  const TrainingState state = read_training_state(folder.path() / "a" / "latest");
  CHECK(state.history.skipped == counter.skipped);
  CHECK(state.optimizer_steps == 150 - counter.skipped);
  CHECK(state.history.recent_losses.size() == 128);

  TrainConfig parts = small_run_config(folder, "b");
  parts.eval_interval = 150;
  parts.skip_spikes = 0.5;
  parts.learning_rate = parts.min_lr = 1e-6;
  parts.max_iters = 140;
  run_training(parts);
  parts.max_iters = 150;
  run_training(parts, {.resume = true});
  CHECK(weights_of(parts.out_dir) == weights_of(config.out_dir));
}
