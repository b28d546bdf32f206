#include "train/run_start.h"

#include <utility>

#include "headlight/data/batcher.h"
#include "headlight/io/model_directory.h"
#include "headlight/tensor/build.h"
#include "headlight/tensor/machine.h"
#include "headlight/train/checkpoint.h"
#include "headlight/train/starting_model.h"
#include "text/printable.h"
#include "train/resume_check.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

// The model to go on with, or nothing for a run from scratch.
LoadedModel initial_model(const TrainConfig& config, bool resume, RunStart& start) {
  if (resume) {
    start.checkpoint = find_latest_checkpoint(config.out_dir, start.warnings);
    start.state = read_training_state(start.checkpoint);
    require_same_config(start.state, config);
    require(config.max_iters >= start.state.iteration, "max_iters: expected at least ",
            start.state.iteration, ", which ", shown(start.checkpoint), " has done, got ",
            config.max_iters);
    for (std::string& warning : build_warnings(start.state)) {
      start.warnings.push_back(std::move(warning));
    }
    start.notes.push_back("resuming from " + shown(start.checkpoint) +
                          (start.state.iteration == config.max_iters
                               ? ", where the run is done; a larger max_iters goes on"
                               : ""));
  }
  if (start.checkpoint.empty() && !starts_from_model(config)) {
    return {};
  }
  return load_model(resume ? start.checkpoint : fs::path(config.init_from),
                    {.adjust = [&](GptConfig& model) {
                      fit_to_run(model, config);
                      start.memory = plan_memory(config, model);
                      require_memory(start.memory);
                    }});
}

void require_vocabulary(const TrainConfig& config, Index ids) {
  // A text that ran out of pairs gave fewer tokens than bpe was to learn.
  const bool ran_out = config.tokenizer == "bpe" && ids < config.vocab_size;
  require(config.vocab_size == 0 || config.vocab_size == ids || ran_out, "vocab_size: expected ",
          ids, ", which the tokenizer has, or 0, got ", config.vocab_size);
}

// A run must not find out at its first evaluation.
void require_targets(const TrainConfig& config, const TokenDataset& validation) {
  require(validation.sequences.empty() || has_targets(validation),
          config.validation_data.empty() ? "validation_fraction" : "validation_data",
          ": expected text with two tokens in a row, or none, got ", validation.token_count,
          " tokens in ", validation.sequences.size(), " parts");
}

}  // namespace

RunStart prepare_run(const TrainConfig& config, bool resume) {
  RunStart start;
  LoadedModel loaded = initial_model(config, resume, start);
  start.data = load_training_data(config, std::move(loaded.tokenizer));
  start.notes.insert(start.notes.end(), start.data.notes.begin(), start.data.notes.end());
  require_targets(config, start.data.validation);
  if (resume) {
    require_same_data(start.state.data, start.data.train.token_count,
                      Batcher(start.data.train, config.batcher()).batches_per_epoch());
  }
  const auto data = static_cast<double>(bytes_in_memory(start.data.train) +
                                        bytes_in_memory(start.data.validation));
  const Index ids = start.data.tokenizer->vocab_size();
  require_vocabulary(config, ids);
  start.model = std::move(loaded.model);
  if (start.model == nullptr) {
    const GptConfig model = config.model(ids);
    start.memory = plan_memory(config, model);
    start.memory.available += start.memory.available > 0 ? data : 0;  // it is taken already
    start.memory.data = data;
    require_memory(start.memory);
    start.model = std::make_unique<Gpt>(model, static_cast<std::uint64_t>(config.seed));
  } else {
    start.memory.data = data;
    require_memory(start.memory);
  }
  start.state.config = to_toml(config);
  start.state.build = build_description();
  start.state.cpu_variant = std::string(cpu_variant_name());
  start.state.products = products_description();
  return start;
}

}  // namespace headlight
