#include "headlight/runs/run.h"
#include "runs/small_run.h"
#include "support/test.h"

// Runs whose caller asks for every step.

TEST_CASE("steps that a caller asks for make the run of run_training") {
  const TemporaryFolder folder;
  run_training(small_run_config(folder, "whole"));
  TrainingRun run(small_run_config(folder, "steps"), {.saves_in_background = false});
  Index steps = 0;
  while (run.step()) {
    ++steps;
  }
  CHECK(steps == 12);
  CHECK(!run.step());
  const RunResult result = run.finish();
  CHECK(result.iterations == 12);
  CHECK(!result.stopped);
  CHECK(weights_of(folder.at("steps")) == weights_of(folder.at("whole")));
  const LoadedModel loaded = run.take_model();
  CHECK(loaded.model->block_size() == 16);
  CHECK(loaded.tokenizer->vocab_size() == loaded.model->config().vocab_size);
  const NamedTensors saved = read_safetensors(folder.at("steps/latest/model.safetensors"));
  CHECK(saved.size() == model_tensors(*loaded.model).size());
}

TEST_CASE("a run that its caller ends early is saved and can be resumed") {
  const TemporaryFolder folder;
  run_training(small_run_config(folder, "whole"));
  {
    TrainingRun run(small_run_config(folder, "cut"), {.saves_in_background = false});
    CHECK(run.step());
    CHECK(run.step());
    const RunResult result = run.finish();
    CHECK(result.iterations == 2);
    CHECK(result.stopped);
  }
  CHECK(run_training(small_run_config(folder, "cut"), {.resume = true}).iterations == 12);
  CHECK(weights_of(folder.at("cut")) == weights_of(folder.at("whole")));
}
