#include "headlight/train/train_config.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <filesystem>
#include <type_traits>

#include "headlight/data/documents.h"
#include "headlight/data/token_dtype.h"
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
constexpr ConfigRange kSize{.least = 1};                    // GptConfig checks the upper bound
constexpr ConfigRange kOptionalSize{.least = 0};            // GptConfig checks the upper bound
constexpr ConfigRange kIterations{.least = 1, .most = 99};  // as in torch.optim.Muon
constexpr ConfigRange kNotNegative{.least = 0};
// Rates are computed as float, where larger numbers would be infinite.
constexpr ConfigRange kRate{.least = 0, .most = 1e38, .is_guard = true};
constexpr ConfigRange kFraction{.least = 0, .most = 1, .below_most = true};
constexpr ConfigRange kShare{.least = 0, .most = 1};
constexpr ConfigRange kShards{.least = 0, .most = 1024};

constexpr std::array kFields{
    ConfigField{.key = "out_dir",
                .member = &C::out_dir,
                .help = "Write checkpoints, metrics and the configuration to this run directory",
                .role = free,
                .is_basic = true,
                .group = "Run and data"},
    ConfigField{
        .key = "init_from",
        .member = &C::init_from,
        .help = "Start from scratch, or from the weights of a model directory; resume: as --resume",
        .role = start,
        .is_path = true,
        .is_basic = true},
    ConfigField{.key = "data",
                .member = &C::data,
                .help = "Train on these texts (.txt, .jsonl, also .gz or .zst; - is standard "
                        "input) or token ids (FILE.bin): files, a folder, or a pattern like "
                        "'books/*.txt'. NAME:WEIGHT samples from several of them by weight",
                .is_path = true,
                .is_basic = true},
    ConfigField{
        .key = "validation_data",
        .member = &C::validation_data,
        .help = "Evaluate on these texts or token ids; empty: on the end of every file of data",
        .is_path = true},
    ConfigField{"validation_fraction", &C::validation_fraction,
                "Hold out this share of every file of data, from its end, for evaluation", training,
                kFraction},
    ConfigField{.key = "documents",
                .member = &C::documents,
                .help = "Split text into documents: none (one stream), line, blank_line, or token "
                        "(at separator)",
                .choices = kChoiceNames<DocumentSplit>},
    ConfigField{"separator", &C::separator, "Text between documents, for documents = 'token'"},
    ConfigField{"jsonl", &C::jsonl,
                "Key of the text in JSON lines, one document per line; empty: 'text' in .jsonl "
                "files, and other files are plain text"},
    ConfigField{.key = "special_tokens",
                .member = &C::special_tokens,
                .help = "on: read names of special tokens in texts as those tokens; off: read them "
                        "as plain text",
                .choices = kChoiceNames<SpecialNames>},
    ConfigField{.key = "token_dtype",
                .member = &C::token_dtype,
                .help = "Type of the ids in .bin files: uint16 (nanoGPT), uint32, or auto (from "
                        "llm.c's header or the contents)",
                .role = free,
                .choices = kChoiceNames<TokenDtype>},
    ConfigField{
        .key = "tokenizer",
        .member = &C::tokenizer,
        .help =
            "char (Unicode characters), byte, bpe (learned from data), or the path of a tokenizer",
        .role = start,
        .is_path = true,
        .is_basic = true},
    ConfigField{"vocab_size", &C::vocab_size,
                "Learn this number of bpe tokens; 0 for other tokenizers. bench, which reads no "
                "data, takes any number",
                start, kCount},
    ConfigField{.key = "batching",
                .member = &C::batching,
                .help = "packed: blocks of one token stream; padded: one document per sequence; "
                        "bucketed: also batches documents of similar length",
                .choices = kChoiceNames<Batching>,
                .group = "Batch"},
    ConfigField{.key = "document_order",
                .member = &C::document_order,
                .help = "padded, bucketed: computed (constant memory), or listed (a list in "
                        "memory, as in runs of older versions)",
                .choices = kChoiceNames<DocumentOrder>},
    ConfigField{"repeat_share", &C::repeat_share,
                "packed: make this share of the sequences random tokens that are repeated",
                training, kShare},
    ConfigField{.key = "batch_size",
                .member = &C::batch_size,
                .help = "Sequences in a batch",
                .role = training,
                .range = kFromOne,
                .is_basic = true},
    ConfigField{.key = "block_size",
                .member = &C::block_size,
                .help = "Longest sequence in tokens (context length)",
                .role = architecture,
                .range = kFromOne,
                .is_basic = true},
    ConfigField{"gradient_accumulation_steps", &C::gradient_accumulation_steps, "Batches in a step",
                training, kFromOne},
    ConfigField{"bucket_window", &C::bucket_window,
                "bucketed: sort this number of batches together by length", training, kFromOne},
    ConfigField{"shards", &C::shards,
                "Split each step into this number of parts (1, 2, 4 ...), added in a fixed order; "
                "0: one per process",
                training, kShards},
    ConfigField{.key = "n_layer",
                .member = &C::n_layer,
                .help = "Layers",
                .role = architecture,
                .range = kSize,
                .is_basic = true,
                .group = "Model size"},
    ConfigField{.key = "n_head",
                .member = &C::n_head,
                .help = "Attention heads in each layer",
                .role = architecture,
                .range = kSize,
                .is_basic = true},
    ConfigField{
        "n_kv_head", &C::n_kv_head,
        "Key and value heads in each layer, each shared by n_head / n_kv_head heads; 0: n_head",
        architecture, kOptionalSize},
    ConfigField{.key = "n_embd",
                .member = &C::n_embd,
                .help = "Width of the model",
                .role = architecture,
                .range = kSize,
                .is_basic = true},
    ConfigField{"n_inner", &C::n_inner, "Inner width of the MLPs; 0: 4 n_embd", architecture,
                kOptionalSize},
    ConfigField{"head_width", &C::head_width, "Width of each head; 0: n_embd / n_head",
                architecture, kOptionalSize},
    ConfigField{
        "sliding_window", &C::sliding_window,
        "Attend to at most this number of latest tokens, including the query's own; 0: to all",
        architecture, kOptionalSize},
    ConfigField{"sliding_window_pattern", &C::sliding_window_pattern,
                "Let one in this number of layers attend to all earlier tokens; 0: none",
                architecture, kOptionalSize},
    ConfigField{.key = "dropout",
                .member = &C::dropout,
                .help = "Dropout probability everywhere",
                .role = training,
                .range = kFraction,
                .group = "Dropout"},
    ConfigField{"attention_dropout", &C::attention_dropout,
                "Dropout probability of attention weights", training, kFraction, "dropout"},
    ConfigField{"residual_dropout", &C::residual_dropout,
                "Dropout probability of the outputs of attention and MLPs", training, kFraction,
                "dropout"},
    ConfigField{"embedding_dropout", &C::embedding_dropout, "Dropout probability of the embedding",
                training, kFraction, "dropout"},
    ConfigField{.key = "bias",
                .member = &C::bias,
                .help = "Use biases in linear layers and layer norms",
                .role = architecture,
                .group = "Architecture"},
    ConfigField{.key = "qkv_bias",
                .member = &C::qkv_bias,
                .help = "Use biases for queries, keys and values",
                .role = architecture,
                .follows = "bias"},
    ConfigField{.key = "attention_output_bias",
                .member = &C::attention_output_bias,
                .help = "Use a bias in the output projection of attention",
                .role = architecture,
                .follows = "bias"},
    ConfigField{.key = "mlp_bias",
                .member = &C::mlp_bias,
                .help = "Use biases in MLPs",
                .role = architecture,
                .follows = "bias"},
    ConfigField{"tie_weights", &C::tie_weights, "Use the token embedding as output head",
                architecture},
    ConfigField{"embedding_scale", &C::embedding_scale,
                "Multiply token embeddings by this number; 0: do not", architecture, kNotNegative},
    ConfigField{.key = "norm",
                .member = &C::norm,
                .help = "Position of the norms: pre (GPT-2) or post (the original transformer)",
                .role = architecture,
                .choices = kChoiceNames<NormPosition>},
    ConfigField{.key = "norm_type",
                .member = &C::norm_type,
                .help = "Type of the norms: layer (GPT-2) or rms (Llama)",
                .role = architecture,
                .choices = kChoiceNames<NormKind>},
    ConfigField{"layer_norm_epsilon", &C::layer_norm_epsilon,
                "Epsilon of the norms, of either type", architecture, kFraction},
    ConfigField{"norm_gain_plus_one", &C::norm_gain_plus_one,
                "Multiply by 1 + gain in norms (Gemma)", architecture},
    ConfigField{"output_norms", &C::output_norms,
                "Also normalise the outputs of attention and MLPs (Gemma 2 and 3)", architecture},
    ConfigField{"parallel_residual", &C::parallel_residual,
                "Compute attention and MLP of a layer from the same input (GPT-NeoX)",
                architecture},
    ConfigField{"shared_norm", &C::shared_norm, "parallel_residual: use one norm for both",
                architecture},
    ConfigField{.key = "position",
                .member = &C::position,
                .help = "Position encoding: learned (GPT-2), rope (Llama) or none",
                .role = architecture,
                .choices = kChoiceNames<PositionKind>},
    ConfigField{"rope_theta", &C::rope_theta, "rope: base of the wavelengths", architecture,
                kNotNegative},
    ConfigField{"rope_local_theta", &C::rope_local_theta,
                "rope: base of the wavelengths in layers with a sliding window; 0: rope_theta",
                architecture, kNotNegative},
    ConfigField{"rotary_pct", &C::rotary_pct, "rope: rotate this share of each head's width",
                architecture, kShare},
    ConfigField{
        .key = "rope_scaling",
        .member = &C::rope_scaling,
        .help = "rope: extension of the context: none, linear, or llama3 (keeps short wavelengths)",
        .role = architecture,
        .choices = kChoiceNames<RopeScaling>},
    ConfigField{"rope_factor", &C::rope_factor, "rope_scaling: extend the context by this factor",
                architecture, kNotNegative},
    ConfigField{
        "low_freq_factor", &C::low_freq_factor,
        "llama3: scale wavelengths that fit at most this many times into the original context",
        architecture, kNotNegative},
    ConfigField{
        "high_freq_factor", &C::high_freq_factor,
        "llama3: keep wavelengths that fit at least this many times into the original context",
        architecture, kNotNegative},
    ConfigField{"original_max_position_embeddings", &C::original_max_position_embeddings,
                "llama3: length of the original context in tokens", architecture, kNotNegative},
    ConfigField{"attention_scale", &C::attention_scale,
                "Multiply attention scores by this number; 0: 1 / sqrt(head_width)", architecture,
                kNotNegative},
    ConfigField{"qk_norm", &C::qk_norm, "Normalise the queries and keys of each head (Qwen 3)",
                architecture},
    ConfigField{.key = "activation",
                .member = &C::activation,
                .help = "Activation function of MLPs: gelu_new, gelu, relu, relu2 or silu",
                .role = architecture,
                .choices = kChoiceNames<Activation>},
    ConfigField{"mlp", &C::mlp, "false: layers have attention only", architecture},
    ConfigField{"gated_mlp", &C::gated_mlp,
                "Multiply activation(gate) by a second projection (with silu: SwiGLU)",
                architecture},
    ConfigField{
        .key = "dtype",
        .member = &C::dtype,
        .help =
            "Precision of matrix products: float32, or bfloat16 (rounded operands, float32 sums)",
        .choices = kChoiceNames<Precision>,
        .group = "Optimizer"},
    ConfigField{.key = "optimizer",
                .member = &C::optimizer,
                .help = "adamw, sgd, or muon (for matrices inside layers; adamw for the rest)",
                .choices = kChoiceNames<OptimizerKind>},
    ConfigField{.key = "learning_rate",
                .member = &C::learning_rate,
                .help = "Highest learning rate",
                .role = training,
                .range = kRate,
                .is_basic = true},
    ConfigField{"min_lr", &C::min_lr, "Learning rate from step lr_decay_iters on", training, kRate,
                "learning_rate / 10"},
    ConfigField{"decay_lr", &C::decay_lr,
                "false: keep the learning rate constant after the warm-up"},
    ConfigField{
        .key = "lr_schedule",
        .member = &C::lr_schedule,
        .help = "Learning-rate schedule: cosine, linear, wsd (warm-up, stable, decay) or constant",
        .choices = kChoiceNames<ScheduleKind>},
    ConfigField{"warmup_iters", &C::warmup_iters,
                "Raise the learning rate linearly for this number of steps", training, kCount,
                "max_iters / 20, at most 2000"},
    ConfigField{"lr_decay_iters", &C::lr_decay_iters, "Reach min_lr at this step", training, kCount,
                "max_iters"},
    ConfigField{"lr_decay_fraction", &C::lr_decay_fraction,
                "wsd: lower the learning rate in this share of lr_decay_iters, at the end",
                training, kShare},
    ConfigField{.key = "max_iters",
                .member = &C::max_iters,
                .help = "Stop after this number of steps",
                .role = free,
                .range = kCount,
                .is_basic = true},
    ConfigField{"weight_decay", &C::weight_decay, "Weight decay of tensors with two or more axes",
                training, kRate},
    ConfigField{"beta1", &C::beta1, "AdamW: decay rate of the mean of gradients", training,
                kFraction},
    ConfigField{"beta2", &C::beta2, "AdamW: decay rate of the mean of squared gradients", training,
                kFraction},
    ConfigField{"momentum", &C::momentum, "SGD, Muon: momentum", training, kFraction,
                "0.9, with muon 0.95"},
    ConfigField{.key = "adjust_lr_fn",
                .member = &C::adjust_lr_fn,
                .help = "Muon: match_rms_adamw (changes of AdamW's size, so that one learning_rate "
                        "suits both) or original (smaller changes, for rates about 0.02)",
                .choices = kChoiceNames<LearningRateAdjustment>},
    ConfigField{"ns_steps", &C::ns_steps, "Muon: iterations of Newton-Schulz", training,
                kIterations},
    ConfigField{"grad_clip", &C::grad_clip, "Clip gradients to this global norm; 0: off", training,
                kNotNegative},
    ConfigField{.key = "eval_interval",
                .member = &C::eval_interval,
                .help = "Evaluate every N steps",
                .role = free,
                .range = kFromOne,
                .group = "Evaluation, log and checkpoint"},
    ConfigField{"eval_iters", &C::eval_iters,
                "Evaluate on this number of validation batches; 0: all", free, kCount},
    ConfigField{"eval_only", &C::eval_only,
                "Evaluate the starting model or newest checkpoint once, and write nothing", free},
    ConfigField{"log_interval", &C::log_interval, "Log every N steps", free, kFromOne},
    ConfigField{"always_save_checkpoint", &C::always_save_checkpoint,
                "false: save only after a better validation loss, and at the end", free},
    ConfigField{"save_interval", &C::save_interval,
                "Also save a checkpoint every N steps; 0: only after evaluations", free, kCount},
    ConfigField{"keep_checkpoints", &C::keep_checkpoints,
                "Keep this number of latest checkpoints, besides the best", free, kFromOne},
    ConfigField{"track_heads", &C::track_heads,
                "Write scores of all heads to heads.jsonl every N steps; 0: never", free, kCount},
    ConfigField{"sample_interval", &C::sample_interval,
                "Generate a text every N steps, into samples.jsonl; 0: never", free, kCount},
    ConfigField{"sample_prompt", &C::sample_prompt, "Prompt of these texts", free},
    ConfigField{"sample_tokens", &C::sample_tokens, "Generate this number of tokens for each text",
                free, kFromOne},
    ConfigField{.key = "on_save_error",
                .member = &C::on_save_error,
                .help = "If a checkpoint cannot be written: stop (exit code 3), or continue and "
                        "try again at the next one",
                .role = free,
                .choices = kChoiceNames<OnSaveError>},
    ConfigField{.key = "on_nan",
                .member = &C::on_nan,
                .help = "If a loss or gradient is not finite: stop, skip (leave the step out), or "
                        "rollback (return to the last checkpoint and continue with later data)",
                .role = free,
                .choices = kChoiceNames<OnNan>},
    ConfigField{
        "skip_spikes", &C::skip_spikes,
        "Leave out steps whose loss is this many standard deviations above the last 128; 0: off",
        training, kNotNegative},
    ConfigField{"max_bad_updates", &C::max_bad_updates,
                "Stop after leaving out this number of steps in a row, or returning so often to "
                "one checkpoint",
                free, kFromOne},
    ConfigField{"seed", &C::seed, "Seed of weights, data order and dropout", training,
                kNotNegative},
};

static_assert(std::all_of(kFields.begin(), kFields.end(),
                          [](const ConfigField& field) {
                            const bool is_number =
                                std::holds_alternative<Index C::*>(field.member) ||
                                std::holds_alternative<double C::*>(field.member);
                            return is_number == field.range.has_value();
                          }),
              "every number has a range, and nothing else");

// Names of the same settings in other trainers.
constexpr std::array kAliases{ConfigAlias{"output_dir", "out_dir"},
                              ConfigAlias{"dataset", "data"},
                              ConfigAlias{"train_file", "data"},
                              ConfigAlias{"validation_file", "validation_data"},
                              ConfigAlias{"val_data", "validation_data"},
                              ConfigAlias{"per_device_train_batch_size", "batch_size"},
                              ConfigAlias{"max_seq_length", "block_size"},
                              ConfigAlias{"n_ctx", "block_size"},
                              ConfigAlias{"num_hidden_layers", "n_layer"},
                              ConfigAlias{"num_layers", "n_layer"},
                              ConfigAlias{"num_attention_heads", "n_head"},
                              ConfigAlias{"num_heads", "n_head"},
                              ConfigAlias{"hidden_size", "n_embd"},
                              ConfigAlias{"d_model", "n_embd"},
                              ConfigAlias{"num_key_value_heads", "n_kv_head"},
                              ConfigAlias{"head_dim", "head_width"},
                              ConfigAlias{"intermediate_size", "n_inner"},
                              ConfigAlias{"rms_norm_eps", "layer_norm_epsilon"},
                              ConfigAlias{"norm_eps", "layer_norm_epsilon"},
                              ConfigAlias{"partial_rotary_factor", "rotary_pct"},
                              ConfigAlias{"attn_pdrop", "attention_dropout"},
                              ConfigAlias{"resid_pdrop", "residual_dropout"},
                              ConfigAlias{"embd_pdrop", "embedding_dropout"},
                              ConfigAlias{"lr", "learning_rate"},
                              ConfigAlias{"lr_scheduler_type", "lr_schedule"},
                              ConfigAlias{"cooldown_frac", "lr_decay_fraction"},
                              ConfigAlias{"max_steps", "max_iters"},
                              ConfigAlias{"warmup_steps", "warmup_iters"},
                              ConfigAlias{"adam_beta1", "beta1"},
                              ConfigAlias{"adam_beta2", "beta2"},
                              ConfigAlias{"max_grad_norm", "grad_clip"},
                              ConfigAlias{"eval_steps", "eval_interval"},
                              ConfigAlias{"logging_steps", "log_interval"},
                              ConfigAlias{"save_steps", "save_interval"},
                              ConfigAlias{"keep", "keep_checkpoints"},
                              ConfigAlias{"save_total_limit", "keep_checkpoints"}};

constexpr std::array<std::string_view, 6> kIgnored{"device",    "compile",       "backend",
                                                   "wandb_log", "wandb_project", "wandb_run_name"};

// Maximum number of tokens in a batch or step, more than today's machines can hold.
constexpr Index kLargestBatch = Index{1} << 26;

template <class T>
concept Number = std::same_as<T, Index> || std::same_as<T, double>;

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

// Throws Error when a batch or a step has too many tokens.
void require_batch(const TrainConfig& config) {
  const Index block = config.block_size;
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
void require_tokenizer(const std::string& tokenizer) {
  constexpr auto kNames = kChoiceNames<NewTokenizer>;
  const bool known = std::find(kNames.begin(), kNames.end(), tokenizer) != kNames.end();
  const bool path = tokenizer.find('/') != std::string::npos || tokenizer.ends_with(".json");
  std::error_code error;
  require_value(known || path || std::filesystem::exists(tokenizer, error), "tokenizer",
                "expected char, byte, bpe or the path of a tokenizer, got '", tokenizer, "'");
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

// Calls `use` for each pair of run and model members with the same meaning. Excludes choices, which
// a run has as text, and rope and windows, which differ in form.
template <class Use>
void for_each_model_key(const Use& use) {
  using G = GptConfig;
  use(&C::block_size, &G::block_size);
  use(&C::n_layer, &G::n_layer);
  use(&C::n_head, &G::n_head);
  use(&C::n_kv_head, &G::n_kv_head);
  use(&C::n_embd, &G::n_embd);
  use(&C::n_inner, &G::n_inner);
  use(&C::head_width, &G::head_width);
  use(&C::bias, &G::bias);
  use(&C::qkv_bias, &G::qkv_bias);
  use(&C::attention_output_bias, &G::attention_output_bias);
  use(&C::mlp_bias, &G::mlp_bias);
  use(&C::tie_weights, &G::tie_weights);
  use(&C::embedding_scale, &G::embedding_scale);
  use(&C::layer_norm_epsilon, &G::layer_norm_epsilon);
  use(&C::norm_gain_plus_one, &G::norm_gain_plus_one);
  use(&C::output_norms, &G::output_norms);
  use(&C::parallel_residual, &G::parallel_residual);
  use(&C::shared_norm, &G::shared_norm);
  use(&C::rope_local_theta, &G::rope_local_theta);
  use(&C::attention_scale, &G::attention_scale);
  use(&C::qk_norm, &G::qk_norm);
  use(&C::mlp, &G::mlp);
  use(&C::gated_mlp, &G::gated_mlp);
  use(&C::attention_dropout, &G::attention_dropout);
  use(&C::residual_dropout, &G::residual_dropout);
  use(&C::embedding_dropout, &G::embedding_dropout);
}

// Describes windows as far as the run's two keys can.
void describe_windows(const std::vector<Index>& windows, TrainConfig& config) {
  const auto window = std::find_if(windows.begin(), windows.end(), [](Index w) { return w > 0; });
  if (window == windows.end()) {
    return;
  }
  config.sliding_window = *window;
  const auto whole = std::find(windows.begin(), windows.end(), Index{0});
  config.sliding_window_pattern =
      whole == windows.end() ? 0 : static_cast<Index>(whole - windows.begin()) + 1;
}

}  // namespace

std::span<const ConfigField> config_fields() { return kFields; }

std::span<const ConfigAlias> config_aliases() { return kAliases; }

std::span<const std::string_view> ignored_config_keys() { return kIgnored; }

bool is_list(const ConfigField& field) {
  return std::holds_alternative<std::vector<std::string> C::*>(field.member);
}

bool is_boolean(const ConfigField& field) {
  return std::holds_alternative<bool C::*>(field.member) ||
         std::holds_alternative<std::optional<bool> C::*>(field.member);
}

bool is_following(const TrainConfig& config, const ConfigField& field) {
  const auto is_open = [&](auto member) {
    using Value = std::remove_cvref_t<decltype(config.*member)>;
    if constexpr (Number<Value>) {
      return config.*member < 0;
    } else if constexpr (std::is_same_v<Value, std::optional<bool>>) {
      return !(config.*member).has_value();
    }
    return false;
  };
  return !field.follows.empty() && std::visit(is_open, field.member);
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
    std::visit(
        [&](auto member) {
          using Value = std::remove_cvref_t<decltype(config.*member)>;
          if constexpr (Number<Value>) {
            if (field.follows.empty() || config.*member != kFollows) {
              require_number(field, config.*member);
            }
          } else if constexpr (std::is_same_v<Value, std::string>) {
            require_choice(field, config.*member);
          }
        },
        field.member);
  }
}

TrainConfig train_config_of(const GptConfig& model) {
  TrainConfig config;
  for_each_model_key([&](auto run, auto of_model) { config.*run = model.*of_model; });
  config.norm = name_of(model.norm);
  config.norm_type = name_of(model.norm_type);
  config.position = name_of(model.position);
  config.activation = name_of(model.activation);
  config.rope_theta = model.rope.theta;
  config.rope_scaling = name_of(model.rope.scaling);
  config.rope_factor = model.rope.factor;
  config.low_freq_factor = model.rope.low_freq_factor;
  config.high_freq_factor = model.rope.high_freq_factor;
  config.original_max_position_embeddings = model.rope.original_max_position_embeddings;
  if (model.rope.width > 0) {
    config.rotary_pct =
        static_cast<double>(model.rope.width) / static_cast<double>(model.elements_of_head());
  }
  describe_windows(model.windows, config);
  return config;
}

void TrainConfig::validate() const {
  require_precision(parse_name<Precision>("dtype", dtype));
  require_tokenizer(tokenizer);
  require_allowed_values(*this);
  require_batch(*this);
  require_shards(shards);
  require_value(repeat_share == 0 || is_named(batching, Batching::packed), "repeat_share",
                "needs batching = packed, got ", batching);
  require_value(repeat_share == 0 || block_size >= 4, "repeat_share",
                "expected a block_size of 4 or more, got ", block_size);
  model(1).validate();
  batcher();
  schedule();
}

TrainConfig TrainConfig::resolved() const {
  constexpr Index kLongestWarmup = 2000;  // as in nanoGPT
  constexpr Index kWarmupShare = 20;
  TrainConfig all = *this;
  const auto follow = [](auto& value, auto other) { value = value < 0 ? other : value; };
  follow(all.attention_dropout, dropout);
  follow(all.residual_dropout, dropout);
  follow(all.embedding_dropout, dropout);
  all.qkv_bias = qkv_bias.value_or(bias);
  all.attention_output_bias = attention_output_bias.value_or(bias);
  all.mlp_bias = mlp_bias.value_or(bias);
  follow(all.momentum, is_named(optimizer, OptimizerKind::muon) ? 0.95 : 0.9);
  follow(all.min_lr, tenth_of(learning_rate));
  follow(all.lr_decay_iters, max_iters);
  follow(all.warmup_iters, std::min(kLongestWarmup, max_iters / kWarmupShare));
  return all;
}

GptConfig TrainConfig::model(Index vocabulary) const {
  const TrainConfig all = resolved();
  GptConfig model{.vocab_size = vocabulary,
                  .norm = parse_name<NormPosition>("norm", norm),
                  .norm_type = parse_name<NormKind>("norm_type", norm_type),
                  .position = parse_name<PositionKind>("position", position),
                  .activation = parse_name<Activation>("activation", activation)};
  for_each_model_key([&](auto run, auto of_model) { model.*of_model = all.*run; });
  model.rope = {.theta = rope_theta,
                .scaling = parse_name<RopeScaling>("rope_scaling", rope_scaling),
                .factor = rope_factor,
                .low_freq_factor = low_freq_factor,
                .high_freq_factor = high_freq_factor,
                .original_max_position_embeddings = original_max_position_embeddings};
  if (rotary_pct < 1 && n_head > 0) {
    const auto head = static_cast<double>(model.elements_of_head());
    constexpr double kRounding = 1e-9;  // of the share, which may be a rounded quotient
    model.rope.width = static_cast<Index>(head * rotary_pct + kRounding);
    require_value(model.rope.width > 0 || !is_named(position, PositionKind::rope), "rotary_pct",
                  "expected a share of at least two of ", head, " elements, got ", rotary_pct);
  }
  const Index window_layers = std::min(n_layer, kMostLayers);  // more layers fail in validate()
  for (Index layer = 0; sliding_window > 0 && layer < window_layers; ++layer) {
    const bool sees_all = sliding_window_pattern > 0 && (layer + 1) % sliding_window_pattern == 0;
    model.windows.push_back(sees_all ? 0 : sliding_window);
  }
  return model;
}

BatcherOptions TrainConfig::batcher() const {
  return {.batching = parse_name<Batching>("batching", batching),
          .batch_size = batch_size,
          .block_size = block_size,
          .seed = static_cast<std::uint64_t>(seed),
          .bucket_window = bucket_window,
          .repeat_share = repeat_share,
          .order = parse_name<DocumentOrder>("document_order", document_order)};
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
                                config.learning_rate, ": the rate rises to it"));
  }
  if (config.warmup_iters > 0 && config.max_iters > 0 &&
      schedule.warmup_steps >= config.max_iters) {
    lines.push_back(concat_text("warmup_iters ", config.warmup_iters,
                                " is not shorter than the run, max_iters ", config.max_iters,
                                ": its last step has a rate of ", schedule.at(config.max_iters - 1),
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
