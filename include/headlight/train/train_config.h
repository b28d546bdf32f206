#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "headlight/data/batcher.h"
#include "headlight/data/documents.h"
#include "headlight/io/config_file.h"
#include "headlight/nn/gpt_config.h"
#include "headlight/optim/schedule.h"

namespace headlight {

// Everything that defines a training run. Names and defaults follow nanoGPT's train.py where it has
// them; config_fields() gives the meaning of each.
struct TrainConfig {
  std::string out_dir = "runs/out";
  std::string init_from = "scratch";
  std::string data;
  std::string validation_data;
  double validation_fraction = 0.1;
  std::string documents = "none";
  std::string separator = "<|endoftext|>";
  std::string token_dtype = "auto";
  std::string tokenizer = "char";
  Index vocab_size = 0;
  std::string batching = "packed";
  double repeat_share = 0.0;

  Index batch_size = 12;
  Index block_size = 1024;
  Index gradient_accumulation_steps = 1;
  Index bucket_window = 64;

  Index n_layer = 12;
  Index n_head = 12;
  Index n_embd = 768;
  double dropout = 0.0;
  double attention_dropout = -1;
  double residual_dropout = -1;
  double embedding_dropout = -1;
  bool bias = false;
  bool tie_weights = true;
  std::string norm = "pre";
  std::string activation = "gelu_new";
  bool mlp = true;
  std::string dtype = "float32";

  std::string optimizer = "adamw";
  double learning_rate = 6e-4;
  double min_lr = 6e-5;
  bool decay_lr = true;
  std::string lr_schedule = "cosine";
  Index warmup_iters = 2000;
  Index lr_decay_iters = 600000;
  Index max_iters = 600000;
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double momentum = 0.9;
  double grad_clip = 1.0;

  Index eval_interval = 2000;
  Index eval_iters = 200;
  Index log_interval = 1;
  bool always_save_checkpoint = true;
  Index save_interval = 0;
  Index keep_checkpoints = 2;
  Index track_heads = 0;
  std::string on_save_error = "stop";
  std::string on_nan = "stop";
  double skip_spikes = 0;
  Index max_bad_updates = 10;
  Index seed = 1337;

  // Throws Error naming the key whose value is out of range or unknown.
  void validate() const;
  GptConfig model(Index vocabulary) const;
  BatcherOptions batcher() const;
  DocumentSplitOptions document_split() const;
  LearningRateSchedule schedule() const;
};

// One key: where its value lives and what it means. This list is the only one: files, the command
// line, the saved configuration and the help all walk it.
struct ConfigField {
  using Member = std::variant<Index TrainConfig::*, double TrainConfig::*, bool TrainConfig::*,
                              std::string TrainConfig::*>;
  std::string_view key;
  Member member;
  std::string_view help;
};

std::span<const ConfigField> config_fields();

// A name that other trainers use for a key.
struct ConfigAlias {
  std::string_view other;
  std::string_view key;
};

std::span<const ConfigAlias> config_aliases();

// The name that a key has here: '_' for '-', and no alias.
std::string canonical_key(std::string_view given);

// Keys of nanoGPT that mean nothing here, such as "device".
std::span<const std::string_view> ignored_config_keys();

// What set_config_value made of a key.
enum class ConfigOutcome {
  set,
  ignored,  // one of ignored_config_keys()
};

// Sets one key from text. '-' counts as '_', and config_aliases() are understood. Throws Error, one
// line that begins with `where`, for an unknown key, naming the nearest known one, and for a value
// of another type.
ConfigOutcome set_config_value(TrainConfig& config, std::string_view key, const std::string& value,
                               const std::string& where);

// The same for an entry of a configuration file, whose value has a type of its own.
ConfigOutcome set_config_entry(TrainConfig& config, const ConfigEntry& entry,
                               const std::string& where);

// The value of a key as text.
std::string config_value(const TrainConfig& config, const ConfigField& field);

// The whole configuration as TOML that reads back the same.
std::string to_toml(const TrainConfig& config);

}  // namespace headlight
