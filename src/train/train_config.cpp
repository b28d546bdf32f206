#include "headlight/train/train_config.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <filesystem>
#include <functional>
#include <iterator>
#include <tuple>
#include <type_traits>

#include "base/strings/read_number.h"
#include "base/strings/split.h"
#include "headlight/datasets/documents.h"
#include "headlight/datasets/token_dtype.h"
#include "headlight/nn/architecture.h"
#include "headlight/optim/muon.h"

namespace headlight {
namespace {

using C = TrainConfig;
using enum ConfigRole;

// Upper bound of every count in a run, so that no sum or product of counts overflows.
constexpr double kLargestCount = static_cast<double>(Index{1} << 35);

constexpr ConfigRange kCount{.least = 0, .most = kLargestCount, .is_guard = true};
constexpr ConfigRange kFromOne{.least = 1, .most = kLargestCount, .is_guard = true};
constexpr ConfigRange kOptionalSize{.least = 0};            // GptConfig checks the upper bound
constexpr ConfigRange kIterations{.least = 1, .most = 99};  // as in torch.optim.Muon
constexpr ConfigRange kNotNegative{.least = 0};
constexpr ConfigRange kPositive{.least = 1e-30};
constexpr ConfigRange kEpochs{.least = 0, .most = 1e6, .is_guard = true};
// Rates are computed as float, where larger numbers would be infinite.
constexpr ConfigRange kRate{.least = 0, .most = 1e38, .is_guard = true};
constexpr ConfigRange kFraction{.least = 0, .most = 1, .below_most = true};
constexpr ConfigRange kShare{.least = 0, .most = 1};
constexpr ConfigRange kPositiveShare{.least = 1e-30, .most = 1};
constexpr ConfigRange kShards{.least = 0, .most = 1024};

template <class T>
concept Number = std::same_as<T, Index> || std::same_as<T, double>;

constexpr ConfigField basic(ConfigField field) {
  field.is_basic = true;
  return field;
}

constexpr ConfigField path(ConfigField field) {
  field.is_path = true;
  return field;
}

template <HasChoices E>
constexpr ConfigField choice(ConfigField field) {
  field.choices = kChoiceNames<E>;
  return field;
}

constexpr ConfigField derived(double C::*other, std::string_view text, ConfigField field) {
  field.other = other;
  field.follows_other = text;
  return field;
}

constexpr ConfigField heading(std::string_view group, ConfigField field) {
  field.group = group;
  return field;
}

// The settings of the model up to `last` stand before this one.
constexpr ConfigField behind(std::string_view last, ConfigField field) {
  field.behind = last;
  return field;
}

constexpr auto kFields = std::to_array<ConfigField>({
    heading(
        "Run and data",
        basic({"out_dir", &C::out_dir,
               "Write checkpoints, metrics and the configuration to this run directory", free})),
    basic(path({"init_from", &C::init_from,
                "Initial weights: scratch (random), those of MODEL (directory or GGUF file), or "
                "resume (as --resume)",
                start})),
    path({"base", &C::base,
          "Base model of the adapter (LoRA) that the run starts from or continues, if it has moved "
          "or the adapter names none",
          start}),
    basic(path({"data", &C::data,
                "Train on these texts (.txt, .jsonl, also .gz or .zst; - is standard input) or "
                "token ids (FILE.bin): files, a folder, or a pattern like 'books/*.txt'. "
                "PATH:WEIGHT samples from several paths in proportion to their weights"})),
    path({"validation_data", &C::validation_data,
          "Evaluate on these texts or token ids; empty: on the end of each file of data "
          "(validation_fraction)"}),
    {"validation_fraction", &C::validation_fraction,
     "Hold out this share of each file of data, at its end, for evaluation", training, kFraction},
    {"split_seed", &C::split_seed,
     "Hold out documents at random, drawn with this seed from all files, instead of the end of "
     "each file; 0: the end",
     training, kNotNegative},
    choice<DocumentSplit>({"documents", &C::documents,
                           "Split text into documents: none (one stream), line, blank_line, or "
                           "token (at separator)"}),
    {"separator", &C::separator, "Text that separates documents if documents is token"},
    {"jsonl", &C::jsonl,
     "Read JSON Lines, one document per line, with the text under this key, or this column of .csv "
     "and .tsv files; empty: .jsonl files have the key 'text', other files are plain text"},
    choice<SpecialNames>({"special_tokens", &C::special_tokens,
                          "on: read names of special tokens in texts as those tokens; off: read "
                          "them as plain text"}),
    choice<TokenDtype>({"token_dtype", &C::token_dtype,
                        "Type of the ids in .bin files: uint16 (nanoGPT), uint32, or auto (from "
                        "llm.c's header or the contents)",
                        free}),
    basic(path(
        {"tokenizer", &C::tokenizer,
         "char (Unicode characters), byte, bpe (learned from data), ids (numbers, for token ids "
         "without a text), or the path of a tokenizer",
         start})),
    {"vocab_size", &C::vocab_size,
     "Size of the bpe vocabulary to learn (0: 1024 on less than 10 MB of text, else 32768) or "
     "number of ids (0: up to the largest in the data); 0 for other tokenizers. headlight bench, "
     "which reads no data, always uses this number",
     start, kCount},
    {"whole_characters", &C::whole_characters,
     "bpe: make each character of the text a token first, so that no token is a part of one",
     start},
    choice<Learn>({"learn", &C::learn,
                   "Conversations, and prompts with completions: learn all tokens, those of the "
                   "assistant (or completion), or of its last message only"}),
    {"chat_template", &C::chat_template,
     "Chat template of the model for conversations: a name (chatml, llama3, ...) or a file; empty: "
     "that of the starting model",
     start},
    heading("Batch",
            choice<Batching>({"batching", &C::batching,
                              "packed: blocks of one token stream; padded: one document per "
                              "sequence; bucketed: also batches documents of similar length"})),
    {"repeat_share", &C::repeat_share,
     "packed: fill this share of the sequences with random tokens that are then repeated", training,
     kShare},
    basic({"batch_size", &C::batch_size, "Sequences in a batch", training, kFromOne}),
    behind("block_size", {"gradient_accumulation_steps", &C::gradient_accumulation_steps,
                          "Batches in a step", training, kFromOne}),
    {"bucket_window", &C::bucket_window,
     "bucketed: sort the documents of this number of batches by length at a time", training,
     kFromOne},
    {"shards", &C::shards,
     "Compute each step in this number of parts (a power of two), summed in a fixed order; 0: one "
     "per process",
     training, kShards},
    behind("head_width", {"sliding_window", &C::sliding_window,
                          "Attend only to the last N tokens, including the query's own; 0: to all",
                          architecture, kOptionalSize}),
    {"sliding_window_pattern", &C::sliding_window_pattern,
     "Let every Nth layer attend to all earlier tokens despite sliding_window; 0: none",
     architecture, kOptionalSize},
    {"windows", &C::windows,
     "Windows of the layers in turn, repeated, instead of sliding_window: 0,256 (GPT-Neo); 0: all "
     "earlier tokens",
     architecture},
    heading(
        "Dropout",
        {"dropout", &C::dropout,
         "Dropout probability; default of attention_dropout, residual_dropout, embedding_dropout",
         training, kFraction}),
    behind("rope_local_theta",
           {"rotary_pct", &C::rotary_pct, "rope: rotate this share of each head's width",
            architecture, kShare}),
    behind("original_max_position_embeddings", {"short_factor", &C::short_factor,
                                                "longrope: divisors of the frequencies in "
                                                "sequences up to the original context, with commas",
                                                architecture}),
    {"long_factor", &C::long_factor, "longrope: divisors of the frequencies in longer sequences",
     architecture},
    heading(
        "Computation",
        behind("gated_mlp", choice<Precision>({"dtype", &C::dtype,
                                               "Precision of matrix products: float32, or bfloat16 "
                                               "(rounded operands, float32 sums)"}))),
    {"recompute", &C::recompute,
     "Compute each layer again in the backward pass instead of keeping its activations, except "
     "attention's, and save checkpoints without a copy: the same result with less memory, in more "
     "time",
     free},
    heading("Fine-tuning",
            {"train", &C::train_parts,
             "Train these parts only, for example 'layer.8-, lm_head'; with lora_rank, adapt them "
             "only; empty: all parts",
             start}),
    {"lora_rank", &C::lora_rank,
     "Train a LoRA adapter of this rank instead of the weights; 0: train the weights", start,
     kCount},
    {"lora_alpha", &C::lora_alpha, "Scale of the adapter, times its rank", start, kNotNegative,
     "2 lora_rank"},
    {"lora_dropout", &C::lora_dropout, "Dropout probability of the adapter's input", training,
     kFraction},
    {"lora_targets", &C::lora_targets,
     "Matrices to adapt: of q, k, v, o, gate, up and down; empty: all", start},
    {"rslora", &C::rslora, "Divide lora_alpha by the square root of lora_rank (rsLoRA)", start},
    {"dora", &C::dora, "Also train the lengths of the rows that the adapter updates (DoRA)", start},
    choice<MatrixForm>({"base_weights", &C::base_weights,
                        "Format of the frozen matrices under an adapter: bfloat16 takes half the "
                        "memory, int8 a quarter; stored keeps the blocks of a GGUF file",
                        start}),
    {"dpo_beta", &C::dpo_beta,
     "Pairs of answers: how strongly direct preference optimization holds the model to its start",
     start, kPositive},
    heading(
        "Optimizer",
        choice<OptimizerKind>(
            {"optimizer", &C::optimizer,
             "Optimizer: adamw, sgd, or muon (for matrices inside layers; adamw for the rest)"})),
    basic({"learning_rate", &C::learning_rate, "Highest learning rate", training, kRate}),
    {"min_lr", &C::min_lr, "Learning rate from step lr_decay_iters on", training, kRate,
     "learning_rate / 10"},
    {"decay_lr", &C::decay_lr, "false: keep the learning rate constant after the warm-up"},
    choice<ScheduleKind>(
        {"lr_schedule", &C::lr_schedule,
         "Learning-rate schedule: cosine, linear, wsd (warm-up, stable, decay) or constant"}),
    derived(&C::warmup_ratio, "warmup_ratio max_iters",
            {"warmup_iters", &C::warmup_iters,
             "Raise the learning rate linearly for this number of steps", training, kCount,
             "max_iters / 20, at most 2000"}),
    {"warmup_ratio", &C::warmup_ratio,
     "Raise the learning rate for this share of max_iters, if warmup_iters is not given; 0: off",
     training, kShare},
    {"lr_decay_iters", &C::lr_decay_iters, "Reach min_lr at this step", training, kCount,
     "max_iters"},
    {"lr_decay_fraction", &C::lr_decay_fraction,
     "wsd: share of lr_decay_iters, at its end, in which the learning rate falls", training,
     kShare},
    basic({"max_iters", &C::max_iters, "Stop after this number of steps", free, kCount}),
    {"epochs", &C::epochs,
     "Set max_iters to the steps in which the data is used this number of times; 0: do not", free,
     kEpochs},
    {"weight_decay", &C::weight_decay, "Weight decay of tensors with two or more axes", training,
     kRate},
    {"beta1", &C::beta1, "AdamW: decay rate of the mean of gradients", training, kFraction},
    {"beta2", &C::beta2, "AdamW: decay rate of the mean of squared gradients", training, kFraction},
    {"adam_epsilon", &C::adam_epsilon,
     "AdamW: number added to the root of the mean of squared gradients", training, kPositive},
    {"momentum", &C::momentum, "SGD, Muon: momentum", training, kFraction, "0.9, with muon 0.95"},
    choice<LearningRateAdjustment>(
        {"adjust_lr_fn", &C::adjust_lr_fn,
         "Muon: size of updates: match_rms_adamw (as AdamW's, for the same learning_rate) or "
         "original (smaller, for a learning_rate about 0.02)"}),
    {"ns_steps", &C::ns_steps, "Muon: iterations of Newton-Schulz", training, kIterations},
    {"grad_clip", &C::grad_clip, "Clip gradients to this global norm; 0: off", training,
     kNotNegative},
    {"label_smoothing", &C::label_smoothing,
     "Spread this share of each target's probability over all tokens, in training only", training,
     kFraction},
    {"z_loss", &C::z_loss,
     "Add this number times log(Z)^2 to each loss of training, with Z the sum of the exponentials "
     "of the logits (PaLM: 1e-4)",
     training, kRate},
    {"ema_decay", &C::ema_decay,
     "Evaluate and save the exponential moving average of the weights with this decay, for example "
     "0.999; 0: the weights themselves",
     start, kFraction},
    {"layer_decay", &C::layer_decay,
     "AdamW: multiply the learning rate by this number once for each layer below the top", training,
     kPositiveShare},
    heading("Evaluation, log and checkpoint",
            derived(&C::epochs, "twice in an epoch",
                    {"eval_interval", &C::eval_interval, "Evaluate every N steps", free, kFromOne,
                     "2000; with epochs, twice in an epoch"})),
    {"eval_iters", &C::eval_iters, "Evaluate on this number of validation batches; 0: all", free,
     kCount},
    {"eval_only", &C::eval_only,
     "Evaluate the initial model or the newest checkpoint once, and write nothing", free},
    {"patience", &C::patience,
     "Stop after this number of evaluations without a better validation loss; 0: never", free,
     kCount},
    {"log_interval", &C::log_interval, "Log every N steps", free, kFromOne},
    {"metrics_csv", &C::metrics_csv, "Also write the metrics of the run as a table, metrics.csv",
     free},
    {"tensorboard", &C::tensorboard,
     "Also write the metrics of the run as an event file for TensorBoard", free},
    {"always_save_checkpoint", &C::always_save_checkpoint,
     "false: save only after a better validation loss, and at the end", free},
    {"save_interval", &C::save_interval,
     "Also save a checkpoint every N steps; 0: only after evaluations", free, kCount},
    {"keep_checkpoints", &C::keep_checkpoints,
     "Keep this number of newest checkpoints, and the best one", free, kFromOne},
    {"track_heads", &C::track_heads,
     "Write scores of all heads to heads.jsonl every N steps; 0: never", free, kCount},
    {"sample_interval", &C::sample_interval,
     "Generate a text every N steps and append it to samples.jsonl; 0: never", free, kCount},
    {"sample_prompt", &C::sample_prompt, "sample_interval: prompt of the texts", free},
    {"sample_tokens", &C::sample_tokens,
     "sample_interval: number of tokens to generate for each text", free, kFromOne},
    choice<OnSaveError>({"on_save_error", &C::on_save_error,
                         "If a checkpoint cannot be written: stop (exit code 3), or continue and "
                         "try again at the next one",
                         free}),
    choice<OnNan>({"on_nan", &C::on_nan,
                   "If a loss or gradient is not finite: stop, skip (do not update), or rollback "
                   "(return to the last checkpoint and continue with later data)",
                   free}),
    {"skip_spikes", &C::skip_spikes,
     "Skip steps whose loss is this many standard deviations above the mean of the last 128; 0: "
     "off",
     training, kNotNegative},
    {"max_bad_updates", &C::max_bad_updates,
     "Stop after this number of skipped steps in a row, or of rollbacks to the same checkpoint",
     free, kFromOne},
    {"seed", &C::seed, "Seed of weights, data order and dropout", training, kNotNegative},
});

static_assert(std::ranges::all_of(kFields,
                                  [](const ConfigField& field) {
                                    const bool is_number =
                                        std::holds_alternative<Index C::*>(field.member) ||
                                        std::holds_alternative<double C::*>(field.member);
                                    return is_number == field.range.has_value();
                                  }),
              "every number has a range, and nothing else");

// Returns a setting of the model. GptConfig::validate() checks upper bounds that help texts omit.
ConfigField field_of(const GptConfigKey& key) {
  ConfigField field{.key = key.name,
                    .member = &key,
                    .help = key.help,
                    .role = key.follows == "dropout" ? training : architecture,
                    .range = key.range,
                    .follows = key.follows,
                    .is_basic = key.is_basic,
                    .group = key.group};
  if (field.range && !field.range->below_most) {
    field.range = ConfigRange{.least = key.range->is_cap ? 0 : key.range->least};
  }
  visit_value(key, GptConfig{}, [&](const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (HasChoices<Value>) {
      field.choices = kChoiceNames<Value>;
    }
  });
  return field;
}

// Returns kFields with the settings of the model at their places.
std::vector<ConfigField> all_fields() {
  std::vector<ConfigField> all;
  const std::span<const GptConfigKey> keys = gpt_config_keys();
  auto key = keys.begin();
  for (const ConfigField& field : kFields) {
    while (!field.behind.empty() && (key == keys.begin() || key[-1].name != field.behind)) {
      if (!key->help.empty()) {
        all.push_back(field_of(*key));
      }
      ++key;
    }
    all.push_back(field);
  }
  return all;
}

constexpr auto kAliases = std::to_array<ConfigAlias>({{"output_dir", "out_dir"},
                                                      {"dataset", "data"},
                                                      {"train_file", "data"},
                                                      {"validation_file", "validation_data"},
                                                      {"val_data", "validation_data"},
                                                      {"val_share", "validation_fraction"},
                                                      {"per_device_train_batch_size", "batch_size"},
                                                      {"max_seq_length", "block_size"},
                                                      {"n_ctx", "block_size"},
                                                      {"num_hidden_layers", "n_layer"},
                                                      {"num_layers", "n_layer"},
                                                      {"num_attention_heads", "n_head"},
                                                      {"num_heads", "n_head"},
                                                      {"hidden_size", "n_embd"},
                                                      {"d_model", "n_embd"},
                                                      {"num_key_value_heads", "n_kv_head"},
                                                      {"head_dim", "head_width"},
                                                      {"intermediate_size", "n_inner"},
                                                      {"rms_norm_eps", "layer_norm_epsilon"},
                                                      {"norm_eps", "layer_norm_epsilon"},
                                                      {"partial_rotary_factor", "rotary_pct"},
                                                      {"attn_pdrop", "attention_dropout"},
                                                      {"resid_pdrop", "residual_dropout"},
                                                      {"embd_pdrop", "embedding_dropout"},
                                                      {"lr", "learning_rate"},
                                                      {"lr_scheduler_type", "lr_schedule"},
                                                      {"cooldown_frac", "lr_decay_fraction"},
                                                      {"max_steps", "max_iters"},
                                                      {"warmup_steps", "warmup_iters"},
                                                      {"adam_beta1", "beta1"},
                                                      {"adam_eps", "adam_epsilon"},
                                                      {"num_train_epochs", "epochs"},
                                                      {"lora_r", "lora_rank"},
                                                      {"target_modules", "lora_targets"},
                                                      {"use_rslora", "rslora"},
                                                      {"use_dora", "dora"},
                                                      {"beta", "dpo_beta"},
                                                      {"gradient_checkpointing", "recompute"},
                                                      {"early_stopping_patience", "patience"},
                                                      {"adam_beta2", "beta2"},
                                                      {"max_grad_norm", "grad_clip"},
                                                      {"label_smoothing_factor", "label_smoothing"},
                                                      {"eval_steps", "eval_interval"},
                                                      {"logging_steps", "log_interval"},
                                                      {"save_steps", "save_interval"},
                                                      {"keep", "keep_checkpoints"},
                                                      {"save_total_limit", "keep_checkpoints"}});

constexpr std::array<std::string_view, 6> kIgnored{"device",    "compile",       "backend",
                                                   "wandb_log", "wandb_project", "wandb_run_name"};

// Maximum number of tokens in a batch or step, more than today's machines can hold.
constexpr Index kLargestBatch = Index{1} << 26;

template <Number T>
void require_number(const ConfigField& field, T value) {
  const ConfigRange& range = *field.range;
  const auto number = static_cast<double>(value);
  const bool is_too_much = range.below_most ? number >= range.most : number > range.most;
  if (range.is_guard && is_too_much) {
    fail_value(field.key, "expected at most ", static_cast<T>(range.most), ", got ", value);
  }
  require_value(number >= range.least && !is_too_much, field.key, "expected ", range_text(field),
                ", got ", value);
}

void require_choice(const ConfigField& field, const std::string& value) {
  const std::span<const std::string_view> choices = field.choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end()) {
    fail_choice(field.key, choices, value);
  }
}

void require_batch(const TrainConfig& config) {
  const Index block = config.gpt.block_size;
  require_value(block <= kLargestBatch && config.batch_size <= kLargestBatch / block, "batch_size",
                "expected at most ", kLargestBatch, " tokens in a batch, got ", config.batch_size,
                " sequences of ", block);
  require_value(config.gradient_accumulation_steps <= kLargestBatch / (config.batch_size * block),
                "gradient_accumulation_steps", "expected at most ", kLargestBatch,
                " tokens in a step, got ", config.gradient_accumulation_steps, " batches of ",
                config.batch_size * block);
}

void require_shards(Index shards) {
  const auto number = static_cast<std::uint64_t>(shards);
  require_value(shards == 0 || std::has_single_bit(number), "shards",
                "expected a power of two (1, 2, 4 ...), got ", shards, "; ", std::bit_floor(number),
                " or ", std::bit_ceil(number), " are possible");
}

// Accepts kinds, and paths even if they do not exist: a resumed run uses its own tokenizer.
void require_tokenizer(const TrainConfig& config) {
  const std::string& tokenizer = config.tokenizer;
  constexpr auto kNames = kChoiceNames<NewTokenizer>;
  const bool known = std::find(kNames.begin(), kNames.end(), tokenizer) != kNames.end();
  const bool path = tokenizer.find('/') != std::string::npos || tokenizer.ends_with(".json");
  std::error_code error;
  require_value(known || path || std::filesystem::exists(tokenizer, error), "tokenizer",
                "expected char, byte, bpe, ids or the path of a tokenizer, got '", tokenizer, "'");
  require_value(!config.whole_characters || is_named(tokenizer, NewTokenizer::bpe),
                "whole_characters", "needs tokenizer = bpe, got '", tokenizer, "'");
}

// Throws Error for settings of fine-tuning that contradict others.
void require_fine_tuning(const TrainConfig& config) {
  std::ignore = config.adapted();
  const bool has_lora = config.lora_rank > 0;
  require_value(!has_lora || config.init_from != "scratch", "lora_rank",
                "needs a model to adapt; name it with init_from");
  require_value(!has_lora || !is_named(config.optimizer, OptimizerKind::muon), "optimizer",
                "muon cannot train a LoRA adapter; choose adamw or sgd");
  require_value(has_lora || config.lora_targets.empty(), "lora_targets",
                "needs lora_rank, the rank of the adapter");
  require_value(has_lora || !config.dora, "dora", "needs lora_rank, the rank of the adapter");
  require_value(has_lora || config.matrix_form() == MatrixForm::float32, "base_weights",
                "needs lora_rank: only frozen matrices can have the form ", config.base_weights);
}

void require_layer_decay(const TrainConfig& config) {
  require_value(config.layer_decay == 1 || is_named(config.optimizer, OptimizerKind::adamw),
                "layer_decay", "needs optimizer = adamw, got ", config.optimizer);
}

// Returns a tenth, rounded in decimal: a tenth of 6e-4 is then exactly 6e-5, as in nanoGPT.
double tenth_of(double value) {
  constexpr int kDigits = 15;  // digits that a double always keeps
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value / 10,
                                 std::chars_format::general, kDigits)
                       .ptr;
  double tenth = 0;
  std::from_chars(text.data(), end, tenth);
  return tenth;
}

// Returns the numbers in the text of a key: "0,256".
template <Number T>
std::vector<T> parsed_numbers(std::string_view key, const std::string& text) {
  std::vector<T> numbers;
  for (const std::string& word : split_at_commas(text)) {
    const auto number = read_number<T>(word);
    require_value(number.has_value() && *number >= 0, key,
                  "expected numbers from 0 with commas, got '", text, "'");
    numbers.push_back(*number);
  }
  return numbers;
}

std::string numbers_text(const std::vector<double>& numbers) {
  std::vector<std::string> words;
  std::ranges::transform(numbers, std::back_inserter(words), shortest_text);
  return joined(words, ",");
}

// Returns the window of each layer; empty: no layer has one.
std::vector<Index> layer_windows(const TrainConfig& config) {
  const std::vector<Index> turns = parsed_numbers<Index>("windows", config.windows);
  require_value(turns.empty() || config.sliding_window == 0, "windows",
                "replaces sliding_window; give only one of them");
  const auto turn_count = static_cast<Index>(turns.size());
  const Index layers = std::min(config.gpt.n_layer, kMostLayers);  // more layers fail in validate()
  const Index pattern = config.sliding_window_pattern;
  std::vector<Index> windows;
  for (Index layer = 0; layer < layers && (turn_count > 0 || config.sliding_window > 0); ++layer) {
    const bool sees_all = pattern > 0 && (layer + 1) % pattern == 0;
    windows.push_back(turn_count > 0 ? turns[static_cast<std::size_t>(layer % turn_count)]
                      : sees_all     ? 0
                                     : config.sliding_window);
  }
  return windows;
}

// Returns the shortest text of windows whose repetition gives the windows of all layers.
std::string windows_text(const std::vector<Index>& windows) {
  std::size_t period = 1;
  const auto repeats = [&] {
    return std::equal(windows.begin() + static_cast<std::ptrdiff_t>(period), windows.end(),
                      windows.begin());
  };
  while (!repeats()) {
    ++period;
  }
  std::vector<std::string> words;
  for (std::size_t layer = 0; layer < period; ++layer) {
    words.push_back(std::to_string(windows[layer]));
  }
  return joined(words, ",");
}

// Sets the keys of windows: sliding_window and its pattern if they can describe the layers.
void describe_windows(const GptConfig& model, TrainConfig& config) {
  const std::vector<Index>& windows = model.windows;
  const auto window = std::find_if(windows.begin(), windows.end(), [](Index w) { return w > 0; });
  if (window == windows.end()) {
    return;
  }
  const auto whole = std::find(windows.begin(), windows.end(), Index{0});
  TrainConfig defaults;
  defaults.gpt.n_layer = model.n_layer;
  defaults.sliding_window = *window;
  defaults.sliding_window_pattern =
      whole == windows.end() ? 0 : static_cast<Index>(whole - windows.begin()) + 1;
  const bool is_default = layer_windows(defaults) == windows;
  config.sliding_window = is_default ? defaults.sliding_window : 0;
  config.sliding_window_pattern = is_default ? defaults.sliding_window_pattern : 0;
  config.windows = is_default ? "" : windows_text(windows);
}

}  // namespace

std::span<const ConfigField> config_fields() {
  static const std::vector<ConfigField> fields = all_fields();
  return fields;
}

std::span<const ConfigAlias> config_aliases() { return kAliases; }

std::span<const std::string_view> ignored_config_keys() { return kIgnored; }

bool is_list(const ConfigField& field) {
  return std::holds_alternative<std::vector<std::string> C::*>(field.member);
}

bool is_boolean(const ConfigField& field) {
  return visit_value(field, TrainConfig{}, [](const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    return std::same_as<Value, bool> || std::same_as<Value, std::optional<bool>>;
  });
}

bool is_number(const ConfigField& field) {
  return visit_value(field, TrainConfig{}, [](const auto& value) {
    return Number<std::remove_cvref_t<decltype(value)>>;
  });
}

bool is_following(const TrainConfig& config, const ConfigField& field) {
  const auto is_open = [](const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (Number<Value>) {
      return value < 0;
    } else if constexpr (std::same_as<Value, std::optional<bool>>) {
      return !value.has_value();
    }
    return false;
  };
  return !field.follows.empty() && visit_value(field, config, is_open);
}

std::string_view derivation(const TrainConfig& config, const ConfigField& field) {
  const bool has_other = field.other != nullptr && config.*field.other > 0;
  return has_other ? field.follows_other : field.follows;
}

std::string range_text(const ConfigField& field) {
  if (!field.range) {
    return "";
  }
  const ConfigRange& range = *field.range;
  return std::isinf(range.most) || range.is_guard
             ? concat_text("at least ", range.least)
             : concat_text(range.least, " to ", range.below_most ? "below " : "", range.most);
}

void require_allowed_values(const TrainConfig& config) {
  for (const ConfigField& field : config_fields()) {
    visit_value(field, config, [&](const auto& value) {
      using Value = std::remove_cvref_t<decltype(value)>;
      if constexpr (Number<Value>) {
        if (field.follows.empty() || value != kFollows) {
          require_number(field, value);
        }
      } else if constexpr (std::same_as<Value, std::string>) {
        require_choice(field, value);
      }
    });
  }
}

TrainConfig train_config_of(const GptConfig& model) {
  TrainConfig config;
  for (const GptConfigKey& key : gpt_config_keys()) {
    if (!key.help.empty()) {
      copy_value(key, model, config.gpt);
    }
  }
  if (model.rope.width > 0) {
    config.rotary_pct =
        static_cast<double>(model.rope.width) / static_cast<double>(model.elements_of_head());
  }
  config.short_factor = numbers_text(model.rope.short_factors);
  config.long_factor = numbers_text(model.rope.long_factors);
  describe_windows(model, config);
  return config;
}

void TrainConfig::validate() const {
  require_precision(parse_name<Precision>("dtype", dtype));
  require_tokenizer(*this);
  require_allowed_values(*this);
  require_batch(*this);
  require_shards(shards);
  require_value(repeat_share == 0 || is_named(batching, Batching::packed), "repeat_share",
                "needs batching = packed, got ", batching);
  require_value(repeat_share == 0 || gpt.block_size >= 4, "repeat_share",
                "expected a block_size of 4 or more, got ", gpt.block_size);
  require_fine_tuning(*this);
  require_layer_decay(*this);
  model(1).validate();
}

TrainConfig TrainConfig::resolved() const {
  constexpr Index kLongestWarmup = 2000;  // as in nanoGPT
  constexpr Index kWarmupShare = 20;
  TrainConfig all = *this;
  const auto follow = [](auto& value, auto other) { value = value < 0 ? other : value; };
  follow(all.gpt.attention_dropout, dropout);
  follow(all.gpt.residual_dropout, dropout);
  follow(all.gpt.embedding_dropout, dropout);
  all.gpt.qkv_bias = gpt.qkv_bias.value_or(gpt.bias);
  all.gpt.attention_output_bias = gpt.attention_output_bias.value_or(gpt.bias);
  all.gpt.mlp_bias = gpt.mlp_bias.value_or(gpt.bias);
  follow(all.momentum, is_named(optimizer, OptimizerKind::muon) ? 0.95 : 0.9);
  follow(all.min_lr, tenth_of(learning_rate));
  follow(all.lr_decay_iters, max_iters);
  const auto share = static_cast<Index>(std::ceil(warmup_ratio * static_cast<double>(max_iters)));
  follow(all.warmup_iters,
         warmup_ratio > 0 ? share : std::min(kLongestWarmup, max_iters / kWarmupShare));
  const auto halves = static_cast<Index>(std::max(1.0, 2 * epochs));
  follow(all.eval_interval, epochs > 0 ? std::max<Index>(1, max_iters / halves) : 2000);
  follow(all.lora_alpha, 2.0 * static_cast<double>(lora_rank));
  return all;
}

LoraOptions TrainConfig::lora() const {
  return {.rank = lora_rank,
          .alpha = resolved().lora_alpha,
          .dropout = lora_dropout,
          .rslora = rslora,
          .dora = dora};
}

MatrixForm TrainConfig::matrix_form() const {
  return parse_name<MatrixForm>("base_weights", base_weights);
}

std::vector<LoraTarget> TrainConfig::adapted() const {
  std::vector<LoraTarget> targets;
  for (const std::string& text : lora_targets) {
    for (const std::string& name : split_at_commas(text)) {
      targets.push_back(parse_name<LoraTarget>("lora_targets", name));
    }
  }
  return targets;
}

GptConfig TrainConfig::model(Index vocabulary) const {
  GptConfig model = resolved().gpt;
  model.vocab_size = vocabulary;
  if (rotary_pct < 1 && model.n_head > 0) {
    const auto head = static_cast<double>(model.elements_of_head());
    constexpr double kRounding = 1e-9;  // of the share, which may be a rounded quotient
    model.rope.width = static_cast<Index>(head * rotary_pct + kRounding);
    require_value(model.rope.width > 0 || model.position != PositionKind::rope, "rotary_pct",
                  "expected a share that gives at least two of the ", head,
                  " elements of a head, got ", rotary_pct);
  }
  model.rope.short_factors = parsed_numbers<double>("short_factor", short_factor);
  model.rope.long_factors = parsed_numbers<double>("long_factor", long_factor);
  model.windows = layer_windows(*this);
  return model;
}

BatcherOptions TrainConfig::batcher() const {
  return {.batching = parse_name<Batching>("batching", batching),
          .batch_size = batch_size,
          .block_size = gpt.block_size,
          .seed = static_cast<std::uint64_t>(seed),
          .bucket_window = bucket_window,
          .repeat_share = repeat_share};
}

Index TrainConfig::shard_count(Index processes) const {
  const Index count = shards == 0 ? processes : shards;
  require_value(count >= processes, "shards", "expected at least ", processes,
                ", the number of processes, got ", count, "; start ", count,
                " or fewer processes, or set shards = ", processes);
  return count;
}

LearningRateSchedule TrainConfig::schedule() const {
  const TrainConfig all = resolved();
  return {.kind = decay_lr ? parse_name<ScheduleKind>("lr_schedule", lr_schedule)
                           : ScheduleKind::constant,
          .learning_rate = learning_rate,
          .min_learning_rate = all.min_lr,
          .warmup_steps = all.warmup_iters,
          .decay_steps = all.lr_decay_iters,
          .decay_fraction = lr_decay_fraction};
}

std::vector<std::string> contradictions(const TrainConfig& config) {
  const LearningRateSchedule schedule = config.schedule();
  const bool decays = schedule.kind != ScheduleKind::constant;
  std::vector<std::string> lines;
  if (decays && config.min_lr > config.learning_rate) {
    lines.push_back(concat_text("min_lr ", config.min_lr, " is above learning_rate ",
                                config.learning_rate, ": the learning rate rises to min_lr"));
  }
  if (config.warmup_iters > 0 && config.max_iters > 0 &&
      schedule.warmup_steps >= config.max_iters) {
    lines.push_back(concat_text("warmup_iters ", config.warmup_iters, " is not below max_iters ",
                                config.max_iters, ": the last step has the learning rate ",
                                schedule.at(config.max_iters - 1), ", not learning_rate ",
                                config.learning_rate));
  }
  if (decays && schedule.warmup_steps > 0 && config.lr_decay_iters >= 0 &&
      config.lr_decay_iters <= schedule.warmup_steps && schedule.warmup_steps < config.max_iters) {
    lines.push_back(concat_text("lr_decay_iters ", config.lr_decay_iters,
                                " is not above warmup_iters ", schedule.warmup_steps,
                                ": the learning rate falls to min_lr right after the warm-up"));
  }
  return lines;
}

}  // namespace headlight
