#pragma once

#include "headlight/runs/checkpoint.h"
#include "support/test.h"

namespace headlight::test {

// The contents of a checkpoint: a tiny model, its tokenizer and optimizer.
struct Learner {
  explicit Learner(std::uint64_t seed = 1)
      : model({.vocab_size = 257, .block_size = 4, .n_layer = 1, .n_head = 1, .n_embd = 4}, seed) {}

  float& weight() {
    Tensor first = model.parameters()[0].second;
    return first.data<float>()[0];
  }

  ByteTokenizer tokenizer = {};
  Gpt model;
  AdamW optimizer{model.parameters(), {}};
};

// A run that saves without training.
struct SavedRun : Learner {
  using Learner::Learner;

  std::filesystem::path save(Index iteration, Index keep = 2, bool best = false) {
    const TrainingState state{.iteration = iteration};
    optimizer.set_step_count(iteration);
    const std::filesystem::path path =
        save_checkpoint(folder.path(), {model, tokenizer, optimizer, state}, {.best = best});
    remove_old_checkpoints(folder.path(), iteration, {.keep = keep});
    return path;
  }
  bool has(const std::string& name) const { return std::filesystem::exists(folder / name); }
  std::string link(const std::string& name) const {
    return std::filesystem::read_symlink(folder / name).string();
  }
  void damage(const std::string& name) const {
    std::filesystem::resize_file(folder / name / "optimizer.safetensors", 100);
  }

  TemporaryFolder folder = {};
};

}  // namespace headlight::test
