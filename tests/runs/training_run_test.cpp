#include "headlight/runs/run.h"
#include "support/test.h"

// Runs whose caller asks for every step.

namespace training_run_test {
TrainConfig config_of(const TemporaryFolder& folder, const std::string& run) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += "the cat sat on mat number " + std::to_string(i) + " and slept. ";
  }
  TrainConfig config{.out_dir = folder.at(run),
                     .data = {folder.write("data.txt", text)},
                     .batch_size = 2,
                     .block_size = 16,
                     .n_layer = 1,
                     .n_head = 2,
                     .n_embd = 16,
                     .max_iters = 6,
                     .eval_interval = 3,
                     .eval_iters = 1};
  return config;
}

TEST_CASE("steps that a caller asks for make the run of run_training", "[train]") {
  const TemporaryFolder folder;
  run_training(config_of(folder, "whole"));
  TrainingRun run(config_of(folder, "steps"), {.saves_in_background = false});
  Index steps = 0;
  while (run.step()) {
    ++steps;
  }
  CHECK(steps == 6);
  CHECK(!run.step());
  const RunResult result = run.finish();
  CHECK(result.iterations == 6);
  CHECK(!result.stopped);
  CHECK(weights_of(folder.at("steps")) == weights_of(folder.at("whole")));
  const LoadedModel loaded = run.take_model();
  CHECK(loaded.model->block_size() == 16);
  CHECK(loaded.tokenizer->vocab_size() == loaded.model->config().vocab_size);
  const NamedTensors saved = read_safetensors(folder.at("steps/latest/model.safetensors"));
  CHECK(saved.size() == model_tensors(*loaded.model).size());
}

TEST_CASE("a run that its caller ends early is saved and can be resumed", "[train]") {
  const TemporaryFolder folder;
  run_training(config_of(folder, "whole"));
  {
    TrainingRun run(config_of(folder, "cut"), {.saves_in_background = false});
    CHECK(run.step());
    CHECK(run.step());
    const RunResult result = run.finish();
    CHECK(result.iterations == 2);
    CHECK(result.stopped);
  }
  CHECK(run_training(config_of(folder, "cut"), {.resume = true}).iterations == 6);
  CHECK(weights_of(folder.at("cut")) == weights_of(folder.at("whole")));
}
}  // namespace training_run_test
