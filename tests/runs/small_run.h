#pragma once

#include "support/test.h"

namespace headlight::test {

// Returns the configuration of a run of a tiny model on some sentences.
inline TrainConfig small_run_config(const TemporaryFolder& folder, const std::string& run) {
  const std::string text = joined(
      60, [&](int i) { return "the cat sat on mat number " + std::to_string(i) + " and slept. "; });
  TrainConfig config{.out_dir = folder.at(run), .data = {folder.write("data.txt", text)}};
  config.batch_size = 2;
  config.gpt.block_size = 16;
  config.gpt.n_layer = 1;
  config.gpt.n_head = 2;
  config.gpt.n_embd = 16;
  config.dropout = 0.1;
  config.learning_rate = 1e-3;
  config.warmup_iters = 0;
  config.max_iters = 12;
  config.eval_interval = 4;
  config.keep_checkpoints = 9;
  return config;
}

}  // namespace headlight::test
