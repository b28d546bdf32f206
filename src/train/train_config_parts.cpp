#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "headlight/io/token_file.h"
#include "headlight/train/train_config.h"

namespace headlight {
namespace {

// Tokens; more than any machine of today could take at once.
constexpr Index kLargestBatch = Index{1} << 26;

// Of anything that a run counts, so that no sum or product of counts overflows.
constexpr Index kLargestCount = Index{1} << 35;

void require_count(std::string_view key, Index value, Index least) {
  require(value >= least, key, ": expected at least ", least, ", got ", value);
  require(value <= kLargestCount, key, ": expected at most ", kLargestCount, ", got ", value);
}

// One that may follow from others.
void require_following_count(std::string_view key, Index value) {
  if (value != kFollows) {
    require_count(key, value, 0);
  }
}

void require_counts(const TrainConfig& config) {
  require_count("vocab_size", config.vocab_size, 0);
  require_count("batch_size", config.batch_size, 1);
  require_count("block_size", config.block_size, 1);
  require(
      config.block_size <= kLargestBatch && config.batch_size <= kLargestBatch / config.block_size,
      "batch_size: expected at most ", kLargestBatch, " tokens in a batch, got ", config.batch_size,
      " sequences of ", config.block_size);
  require_count("gradient_accumulation_steps", config.gradient_accumulation_steps, 1);
  require(
      config.gradient_accumulation_steps <= kLargestBatch / (config.batch_size * config.block_size),
      "gradient_accumulation_steps: expected at most ", kLargestBatch, " tokens in an update, got ",
      config.gradient_accumulation_steps, " batches of ", config.batch_size * config.block_size);
  require_count("bucket_window", config.bucket_window, 1);
  require_count("max_iters", config.max_iters, 0);
  require_following_count("warmup_iters", config.warmup_iters);
  require_following_count("lr_decay_iters", config.lr_decay_iters);
  require_count("eval_interval", config.eval_interval, 1);
  require_count("eval_iters", config.eval_iters, 0);
  require_count("log_interval", config.log_interval, 1);
  require_count("save_interval", config.save_interval, 0);
  require_count("keep_checkpoints", config.keep_checkpoints, 1);
  require_count("track_heads", config.track_heads, 0);
  require_count("max_bad_updates", config.max_bad_updates, 1);
  require(config.seed >= 0, "seed: expected at least 0, got ", config.seed);
}

void require_not_negative(std::string_view key, double value) {
  require(value >= 0, key, ": expected at least 0, got ", value);
}

// Updates compute with it as a float, where what is larger would be infinite.
void require_rate(std::string_view key, double value) {
  constexpr double kLargestRate = 1e38;
  require_not_negative(key, value);
  require(value <= kLargestRate, key, ": expected at most ", kLargestRate, ", got ", value);
}

void require_fraction(std::string_view key, double value) {
  require(value >= 0 && value < 1, key, ": expected 0 to below 1, got ", value);
}

void require_one_of(std::string_view key, const std::string& value, std::string_view first,
                    std::string_view second) {
  require(value == first || value == second, key, ": expected ", first, " or ", second, ", got '",
          value, "'");
}

// A path is only looked at when the tokenizer is needed: a run that goes on has its own.
void require_tokenizer(const std::string& tokenizer) {
  const bool known = tokenizer == "char" || tokenizer == "byte" || tokenizer == "bpe";
  const bool path = tokenizer.find('/') != std::string::npos || tokenizer.ends_with(".json");
  std::error_code error;
  require(known || path || std::filesystem::exists(tokenizer, error),
          "tokenizer: expected char, byte, bpe or the path of a tokenizer, got '", tokenizer, "'");
}

// In decimals, so that a tenth of 6e-4 is 6e-5, nanoGPT's.
double tenth_of(double value) {
  constexpr int kDigits = 15;  // that every double has
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value / 10,
                                 std::chars_format::general, kDigits)
                       .ptr;
  double tenth = 0;
  std::from_chars(text.data(), end, tenth);
  return tenth;
}

}  // namespace

void TrainConfig::validate() const {
  require_precision(parse_precision(dtype));
  require_tokenizer(tokenizer);
  require_one_of("norm", norm, "pre", "post");
  require_one_of("optimizer", optimizer, "adamw", "sgd");
  require_one_of("on_save_error", on_save_error, "stop", "continue");
  require(on_nan == "stop" || on_nan == "skip" || on_nan == "rollback",
          "on_nan: expected stop, skip or rollback, got '", on_nan, "'");
  require_counts(*this);
  require_fraction("validation_fraction", validation_fraction);
  require_fraction("dropout", dropout);
  require_rate("learning_rate", learning_rate);
  require_rate("min_lr", min_lr == kFollows ? 0 : min_lr);
  require_rate("weight_decay", weight_decay);
  require_not_negative("grad_clip", grad_clip);
  require_not_negative("skip_spikes", skip_spikes);
  require_fraction("beta1", beta1);
  require_fraction("beta2", beta2);
  require_fraction("momentum", momentum);
  require(repeat_share >= 0 && repeat_share <= 1, "repeat_share: expected 0 to 1, got ",
          repeat_share);
  require(repeat_share == 0 || batching == "packed",
          "repeat_share: expected batching = packed beside it, got ", batching);
  require(repeat_share == 0 || block_size >= 4,
          "repeat_share: expected a block_size of 4 or more, ", "got ", block_size);
  // What is in a folder or behind a pattern, is seen when it is read.
  const bool may_be_documents = documents != "none" || !jsonl.empty() ||
                                std::any_of(data.begin(), data.end(), [](const std::string& name) {
                                  return is_json_lines_name(name) || !is_text_name(name);
                                });
  require(batching == "packed" || may_be_documents, "batching: ", batching,
          " needs documents; set documents to line, blank_line or token");
  model(1).validate();
  batcher();
  text_format();
  schedule();
}

TrainConfig TrainConfig::resolved() const {
  constexpr Index kLongestWarmup = 2000;  // nanoGPT's
  constexpr Index kWarmupShare = 20;
  TrainConfig all = *this;
  const auto follow = [](auto& value, auto other) { value = value < 0 ? other : value; };
  follow(all.attention_dropout, dropout);
  follow(all.residual_dropout, dropout);
  follow(all.embedding_dropout, dropout);
  follow(all.min_lr, tenth_of(learning_rate));
  follow(all.lr_decay_iters, max_iters);
  follow(all.warmup_iters, std::min(kLongestWarmup, max_iters / kWarmupShare));
  return all;
}

GptConfig TrainConfig::model(Index vocabulary) const {
  const TrainConfig all = resolved();
  return {.vocab_size = vocabulary,
          .block_size = block_size,
          .n_layer = n_layer,
          .n_head = n_head,
          .n_embd = n_embd,
          .attention_dropout = all.attention_dropout,
          .residual_dropout = all.residual_dropout,
          .embedding_dropout = all.embedding_dropout,
          .bias = bias,
          .tie_weights = tie_weights,
          .norm = norm == "post" ? NormPosition::post : NormPosition::pre,
          .activation = parse_activation(activation),
          .mlp = mlp};
}

BatcherOptions TrainConfig::batcher() const {
  return {.batching = parse_batching(batching),
          .batch_size = batch_size,
          .block_size = block_size,
          .seed = static_cast<std::uint64_t>(seed),
          .bucket_window = bucket_window,
          .repeat_share = repeat_share};
}

TextFormat TrainConfig::text_format() const {
  return {.split = {.mode = parse_document_split(documents), .separator = separator},
          .jsonl = jsonl,
          .token_dtype = parse_token_dtype(token_dtype)};
}

LearningRateSchedule TrainConfig::schedule() const {
  const TrainConfig all = resolved();
  return {.kind = decay_lr ? parse_schedule(lr_schedule) : ScheduleKind::constant,
          .learning_rate = learning_rate,
          .min_learning_rate = all.min_lr,
          .warmup_steps = all.warmup_iters,
          .decay_steps = all.lr_decay_iters};
}

std::vector<std::string> contradictions(const TrainConfig& config) {
  const LearningRateSchedule schedule = config.schedule();
  const bool decays = schedule.kind != ScheduleKind::constant;
  std::vector<std::string> lines;
  if (decays && config.min_lr > config.learning_rate) {
    lines.push_back(concat_text("min_lr ", config.min_lr, " lies above learning_rate ",
                                config.learning_rate, ": the rate rises to it"));
  }
  if (config.warmup_iters > 0 && config.max_iters > 0 &&
      schedule.warmup_steps >= config.max_iters) {
    lines.push_back(concat_text(
        "warmup_iters ", config.warmup_iters, " is not shorter than the run, max_iters ",
        config.max_iters, ": its last update has a rate of ", schedule.at(config.max_iters - 1),
        ", not learning_rate ", config.learning_rate));
  }
  if (decays && schedule.warmup_steps > 0 && config.lr_decay_iters >= 0 &&
      config.lr_decay_iters <= schedule.warmup_steps && schedule.warmup_steps < config.max_iters) {
    lines.push_back(concat_text("lr_decay_iters ", config.lr_decay_iters,
                                " comes before the end of the warm-up, warmup_iters ",
                                schedule.warmup_steps, ": the rate falls to min_lr at once"));
  }
  return lines;
}

}  // namespace headlight
