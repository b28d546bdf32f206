#include "runs/resume_plan.h"
#include "headlight/runs/config_source.h"
#include "support/test.h"

namespace resume_plan_test {
std::string refusal(const TrainConfig& before, const TrainConfig& now) {
  return error_of([&] { changed_settings(before, now, 12); });
}

// A run of documents at batch 7 of 20 in its third epoch.
struct Standing {
  TrainConfig before;
  TrainConfig now;
  TrainingState state;
  DataPosition old{.seed = 1337, .epoch = 2, .batch = 7, .batches_per_epoch = 20, .tokens = 900};
  DataPosition present{.batches_per_epoch = 20, .tokens = 900};

  Standing() {
    before.batching = "padded";
    before.documents = "line";
    before.batch_size = 6;
    now = before;
    state.iteration = 47;
  }
  DataPlan plan() const { return plan_data({before, old}, {now, present}, state); }
};

TEST_CASE("settings that do not affect the model may change and are reported") {
  TrainConfig before;
  TrainConfig now;
  CHECK(changed_settings(before, now, 12).empty());
  now.out_dir = "elsewhere";
  CHECK(changed_settings(before, now, 12).empty());
  now.batch_size = 13;
  now.momentum = 0.5;
  now.dropout = 0.25;
  now.save_interval = 3;
  const auto changes = changed_settings(before, now, 12);
  CHECK(
      lines_of(changes) ==
      std::vector<std::string>{"after step 12: batch_size = 13 (was 12), dropout = 0.25 (was 0), "
                               "attention_dropout = 0.25 (was 0), residual_dropout = 0.25 (was 0), "
                               "embedding_dropout = 0.25 (was 0), momentum = 0.5 (was 0.9), "
                               "save_interval = 3 (was 0)"});
  CHECK(lines_of(std::vector<SettingChange>()).empty());
}

TEST_CASE("settings derived from others are compared by their resulting value") {
  TrainConfig before{.max_iters = 2000};
  TrainConfig now = before;
  now.lr_decay_iters = 2000;  // now given, with the same value
  CHECK(changed_settings(before, now, 5).empty());
  now = before;
  now.max_iters = 4000;
  CHECK(lines_of(changed_settings(before, now, 5)) ==
        std::vector<std::string>{"after step 5: warmup_iters = 200 (was 100), lr_decay_iters = "
                                 "4000 (was 2000), max_iters = 4000 (was 2000)"});
}

TEST_CASE("a run refuses changes of its model and tokenizer and starting model") {
  const TrainConfig before;
  TrainConfig now{.tokenizer = "byte", .gpt = {.n_layer = 3, .bias = false}, .batch_size = 1};
  const std::string message = refusal(before, now);
  CHECK_THAT(message, contains_text("--resume: a run cannot change its model") &&
                          contains_text("tokenizer was \"char\", is now \"byte\"; n_layer was 12, "
                                        "is now 3; start a new run"));
  CHECK_FALSE(contains(message, "batch_size"));
  for (const ConfigField& field : config_fields()) {
    TrainConfig other;
    const std::string value = config_value(other, field);
    if (field.role == ConfigRole::architecture && is_number(field)) {
      set_config_value(other, field.key, value == "1" ? "0" : "1");
      CHECK_THAT(refusal(before, other), contains_text(std::string(field.key) + " was "));
    }
  }
}

TEST_CASE("a run refuses a change of its optimizer") {
  const TrainConfig before;
  for (const char* other : {"sgd", "muon"}) {
    TrainConfig now{.out_dir = "runs/a", .optimizer = other};
    CHECK(refusal(before, now) ==
          std::string("optimizer: the run uses adamw, got ") + other +
              "; continue with --optimizer adamw, or start a new run from its weights: --init_from "
              "runs/a and another --out_dir");
  }
}

TEST_CASE("the settings of a checkpoint are read, and unknown keys refused") {
  TrainingState state;
  state.config = "n_layer = 3\n# min_lr = 0.5  # not given\n";
  const TrainConfig read = settings_of(state, "state.json");
  CHECK(read.gpt.n_layer == 3);
  CHECK(read.min_lr == kFollows);
  CHECK(read.batch_size == TrainConfig{}.batch_size);
  state.config = "never_heard_of = true\n";
  CHECK_THROWS_WITH(settings_of(state, "state.json"), contains_text("state.json: unknown key"));
  state.config = "n_layer = \"three\"\n";
  CHECK_THROWS_WITH(settings_of(state, "state.json"), contains_text("state.json: n_layer"));
  state.config = "batch_size = 0\n";
  check_error([&] { settings_of(state, "state.json"); }, {"state.json: batch_size", "got 0"});
}

TEST_CASE("a run with unchanged batches continues with the next batch") {
  Standing standing;
  standing.state.history.data_start = {.update = 3, .batch = 4};
  standing.now.learning_rate = 0.5;
  CHECK(standing.plan().start == DataStart{.update = 3, .batch = 4});
  standing.now.gradient_accumulation_steps = 4;
  CHECK(standing.plan().start == DataStart{.update = 47, .batch = 47});
  CHECK(standing.plan().note.empty());
}

TEST_CASE("padded batches of another size continue at the same place of the epoch") {
  Standing standing;  // 42 of 115 to 120 documents are done
  standing.now.batch_size = 7;
  standing.present.batches_per_epoch = 17;
  CHECK(standing.plan().start == DataStart{.update = 47, .batch = 2 * 17 + 6});
  CHECK(standing.plan().note.empty());
  standing.now.batch_size = 8;
  standing.present.batches_per_epoch = 15;
  CHECK(standing.plan().start == DataStart{.update = 47, .batch = 2 * 15 + 5});
  CHECK(standing.plan().note ==
        "data: epoch 3 continues after 40 sequences; 2 of them are repeated");
}

TEST_CASE("packed batches of another size continue with the next number of the draw") {
  Standing standing;
  standing.before.batching = standing.now.batching = "packed";
  standing.now.batch_size = 8;
  standing.present = {.batches_per_epoch = 15, .tokens = 1000};
  CHECK(standing.plan().start == DataStart{.update = 47, .batch = 47});
  CHECK(standing.plan().note ==
        "data: different text than the run has trained on so far: 900 tokens before, now 1000");
}

TEST_CASE("other data or orders or batching methods begin the next epoch") {
  const std::string ends =
      "epoch 3 of the data ends after 7 of its 20 batches; epoch 4 begins in a new order";
  Standing seed;
  seed.now.seed = 1;
  CHECK(seed.plan().start == DataStart{.update = 47, .batch = 60});
  CHECK(seed.plan().note == ends);
  Standing way;
  way.now.batching = "bucketed";
  CHECK(way.plan().note == ends);
  Standing data;
  data.present = {.batches_per_epoch = 30, .tokens = 1400};
  CHECK(data.plan().start == DataStart{.update = 47, .batch = 90});
  CHECK(data.plan().note ==
        "data: different text than the run has trained on so far: 900 tokens before, now 1400; " +
            ends);
  Standing beginning;
  beginning.old.batch = 0;
  beginning.now.seed = 1;
  CHECK(beginning.plan().start == DataStart{.update = 47, .batch = 40});
  CHECK(beginning.plan().note.empty());
}
}  // namespace resume_plan_test
