#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "headlight/datasets/batches/batcher.h"
#include "headlight/datasets/learned_tokens.h"
#include "headlight/nn/gpt_config_keys.h"
#include "headlight/nn/lora_options.h"
#include "headlight/nn/packed/matrix_form.h"
#include "headlight/optim/schedule.h"

namespace headlight {

// Value of a numeric key that was not given and is derived from others: see ConfigField::follows.
inline constexpr int kFollows = -1;

enum class OptimizerKind { adamw, sgd, muon };

template <>
inline constexpr auto kChoices<OptimizerKind> = std::to_array<Choice<OptimizerKind>>(
    {{"adamw", OptimizerKind::adamw}, {"sgd", OptimizerKind::sgd}, {"muon", OptimizerKind::muon}});

// Reaction to a loss or gradient that is not finite.
enum class OnNan { stop, skip, rollback };

template <>
inline constexpr auto kChoices<OnNan> = std::to_array<Choice<OnNan>>(
    {{"stop", OnNan::stop}, {"skip", OnNan::skip}, {"rollback", OnNan::rollback}});

// Reaction to a checkpoint that cannot be written.
enum class OnSaveError { stop, go_on };

template <>
inline constexpr auto kChoices<OnSaveError> = std::to_array<Choice<OnSaveError>>(
    {{"stop", OnSaveError::stop}, {"continue", OnSaveError::go_on}});

// Reading of the names of special tokens in texts.
enum class SpecialNames { off, on };

template <>
inline constexpr auto kChoices<SpecialNames> =
    std::to_array<Choice<SpecialNames>>({{"off", SpecialNames::off}, {"on", SpecialNames::on}});

// A tokenizer that a run makes itself.
enum class NewTokenizer { characters, bytes, bpe, ids };

template <>
inline constexpr auto kChoices<NewTokenizer> =
    std::to_array<Choice<NewTokenizer>>({{"char", NewTokenizer::characters},
                                         {"byte", NewTokenizer::bytes},
                                         {"bpe", NewTokenizer::bpe},
                                         {"ids", NewTokenizer::ids}});

// Value of init_from that nanoGPT's configurations use for --resume.
inline constexpr std::string_view kResume = "resume";

// All settings of a training run. Names and defaults follow nanoGPT's train.py where it has them;
// config_fields() describes each.
struct TrainConfig {
  std::string out_dir = "runs/out";
  std::string init_from = "scratch";
  std::string base = {};               // of the adapter init_from; empty: the one it names
  std::vector<std::string> data = {};  // see find_text_files
  std::vector<std::string> validation_data = {};  // none: a part of data
  double validation_fraction = 0.1;
  Index split_seed = 0;
  std::string documents = "none";
  std::string separator = "<|endoftext|>";
  std::string token_dtype = "auto";
  std::string jsonl = {};
  std::string special_tokens = "off";
  std::string tokenizer = "char";  // name of a NewTokenizer, or a path
  Index vocab_size = 0;
  bool whole_characters = false;
  std::string learn = "assistant";
  std::string chat_template = {};
  std::string batching = "packed";
  double repeat_share = 0.0;

  // Keys of the model. Windows, factors of longrope and the rotated width follow from keys below;
  // the vocabulary from the tokenizer.
  GptConfig gpt = {.attention_dropout = kFollows,
                   .residual_dropout = kFollows,
                   .embedding_dropout = kFollows,
                   .bias = false};
  Index batch_size = 12;
  Index gradient_accumulation_steps = 1;
  Index bucket_window = 64;
  Index shards = 0;

  Index sliding_window = 0;
  Index sliding_window_pattern = 0;
  std::string windows = {};
  double dropout = 0.0;
  double rotary_pct = 1;
  std::string short_factor = {};
  std::string long_factor = {};
  std::string dtype = "float32";
  bool recompute = false;

  std::string train_parts = {};
  Index lora_rank = 0;
  double lora_alpha = kFollows;
  double lora_dropout = 0;
  bool rslora = false;
  bool dora = false;
  std::vector<std::string> lora_targets = {};
  std::string base_weights = "float32";
  double dpo_beta = 0.1;

  std::string optimizer = "adamw";
  double learning_rate = 6e-4;
  double min_lr = kFollows;
  bool decay_lr = true;
  std::string lr_schedule = "cosine";
  Index warmup_iters = kFollows;
  double warmup_ratio = 0;
  Index lr_decay_iters = kFollows;
  double lr_decay_fraction = 0.2;
  Index max_iters = 600000;
  double epochs = 0;
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double adam_epsilon = 1e-8;
  double momentum = kFollows;
  std::string adjust_lr_fn = "match_rms_adamw";
  Index ns_steps = 5;
  double grad_clip = 1.0;
  double label_smoothing = 0;
  double z_loss = 0;
  double ema_decay = 0;
  double layer_decay = 1;

  Index eval_interval = kFollows;
  Index eval_iters = 200;
  bool eval_only = false;
  Index patience = 0;
  Index log_interval = 1;
  bool metrics_csv = false;
  bool tensorboard = false;
  bool always_save_checkpoint = true;
  Index save_interval = 0;
  Index keep_checkpoints = 2;
  Index track_heads = 0;
  Index sample_interval = 0;
  std::string sample_prompt = "";
  Index sample_tokens = 64;
  std::string on_save_error = "stop";
  std::string on_nan = "stop";
  double skip_spikes = 0;
  Index max_bad_updates = 10;
  Index seed = 1337;

  // Throws Error with the key whose value is out of range or unknown.
  void validate() const;
  // Returns a copy in which every derived value is filled in.
  TrainConfig resolved() const;
  GptConfig model(Index vocabulary) const;
  BatcherOptions batcher() const;
  LearningRateSchedule schedule() const;
  LoraOptions lora() const;
  // Returns the matrices that LoRA adapts; empty: all. Throws Error for an unknown name.
  std::vector<LoraTarget> adapted() const;
  MatrixForm matrix_form() const;  // of base_weights
  // Returns the shards of a step. Throws Error when there are more processes than shards.
  Index shard_count(Index processes) const;
  // Returns whether a thread writes checkpoints from a copy of weights and moments. `recompute`
  // saves the memory of a whole model's copy; that of an adapter is small.
  bool saves_in_background() const { return !recompute || lora_rank > 0; }
};

// Effect of a key on a resumed run.
enum class ConfigRole {
  training,      // affects steps: may change, and results then differ
  architecture,  // fixed by the model; a starting model sets it
  start,         // fixed when the run began
  free,          // paths, length, output and saving: may change without effect on the weights
};

// A key: its member in TrainConfig or TrainConfig::gpt, and its meaning. Files, command line, saved
// configuration, validation and help all use this one list.
struct ConfigField {
  using Member = std::variant<Index TrainConfig::*, double TrainConfig::*, bool TrainConfig::*,
                              std::string TrainConfig::*, std::vector<std::string> TrainConfig::*,
                              const GptConfigKey*>;
  std::string_view key;
  Member member;
  std::string_view help;
  ConfigRole role = ConfigRole::training;
  std::optional<ConfigRange> range = {};  // of a numeric key
  // Description of the derived value of a key that was not given; empty: not derived.
  std::string_view follows = {};
  std::span<const std::string_view> choices = {};  // of a text key; empty: checked by its reader
  bool is_path = false;   // holds file names, except for words with a special meaning
  bool is_basic = false;  // in the short help
  // Heading of this key and the keys after it; empty: heading of the key before.
  std::string_view group = {};
  std::string_view behind = {};  // last key of the model in front of this key; empty: none
  // If this number is above 0, the derived value follows from it, as follows_other describes.
  double TrainConfig::*other = nullptr;
  std::string_view follows_other = {};
};

std::span<const ConfigField> config_fields();

// Calls visit(value) for the value of a key, and returns its result.
template <class Config, class Visit>
decltype(auto) visit_value(const ConfigField& field, Config&& config, const Visit& visit) {
  return std::visit(
      [&](auto member) -> decltype(auto) {
        if constexpr (std::is_pointer_v<decltype(member)>) {
          return visit_value(*member, config.gpt, visit);
        } else {
          return visit(config.*member);
        }
      },
      field.member);
}

// Name of a key in other trainers.
struct ConfigAlias {
  std::string_view other;
  std::string_view key;
};

std::span<const ConfigAlias> config_aliases();

// nanoGPT keys that have no effect in Headlight, for example "device".
std::span<const std::string_view> ignored_config_keys();

// Returns the description of a value of `config` that was not given: "max_iters / 20".
std::string_view derivation(const TrainConfig& config, const ConfigField& field);

// Returns "0 to below 1" or "at least 1"; empty for a key without a range.
std::string range_text(const ConfigField& field);

// Throws Error for the first number out of range or text that is not a choice.
void require_allowed_values(const TrainConfig& config);

// Returns true for a key that takes a list of texts.
bool is_list(const ConfigField& field);
bool is_boolean(const ConfigField& field);
bool is_number(const ConfigField& field);

// Returns true when the value was not given and is derived from others.
bool is_following(const TrainConfig& config, const ConfigField& field);

// Returns the keys that describe `model`; others have defaults. Inverse of TrainConfig::model().
TrainConfig train_config_of(const GptConfig& model);

// Returns a line for each pair of given settings that contradict each other but still allow a run.
std::vector<std::string> contradictions(const TrainConfig& config);

}  // namespace headlight
