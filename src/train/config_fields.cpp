#include <array>

#include "headlight/train/train_config.h"

namespace headlight {
namespace {

using C = TrainConfig;
using enum ConfigRole;

constexpr std::array kFields{
    ConfigField{"out_dir", &C::out_dir, "Run directory: checkpoints, metrics, configuration", free},
    ConfigField{.key = "init_from",
                .member = &C::init_from,
                .help = "scratch, or a model directory to start from; resume: as --resume",
                .role = start,
                .is_path = true},
    ConfigField{.key = "data",
                .member = &C::data,
                .help =
                    "Texts to train on (.txt, .jsonl, also .gz or .zst; - is stdin) or token ids "
                    "(FILE.bin): files, a folder, or a pattern like 'books/*.txt'",
                .is_path = true},
    ConfigField{.key = "validation_data",
                .member = &C::validation_data,
                .help = "The same to evaluate on; empty: the last part of every file of data",
                .is_path = true},
    ConfigField{"validation_fraction", &C::validation_fraction,
                "Share of every file of data, from its end, kept for evaluation"},
    ConfigField{"documents", &C::documents,
                "How the text is cut: none (one stream), line, blank_line, token"},
    ConfigField{"separator", &C::separator, "Text between documents when documents = 'token'"},
    ConfigField{"jsonl", &C::jsonl,
                "Key of the text in JSON lines, a document each; empty: 'text' in .jsonl files, "
                "others are plain text"},
    ConfigField{
        "token_dtype", &C::token_dtype,
        "Ids in .bin files: uint16 (nanoGPT), uint32, or auto (llm.c's header, or a look at "
        "the file)",
        free},
    ConfigField{.key = "tokenizer",
                .member = &C::tokenizer,
                .help = "char (Unicode characters), byte, bpe (learned from data) or a tokenizer's "
                        "path",
                .role = start,
                .is_path = true},
    ConfigField{"vocab_size", &C::vocab_size,
                "Tokens that bpe learns; else 0, the tokenizer's own (bench and info, which read "
                "no data, take any)",
                start},
    ConfigField{"batching", &C::batching,
                "packed (blocks of one stream), padded or bucketed (documents)"},
    ConfigField{"repeat_share", &C::repeat_share,
                "packed: share of the sequences that are random tokens, repeated"},
    ConfigField{"batch_size", &C::batch_size, "Sequences of a batch"},
    ConfigField{"block_size", &C::block_size, "Longest sequence, in tokens", architecture},
    ConfigField{"gradient_accumulation_steps", &C::gradient_accumulation_steps,
                "Batches of one update"},
    ConfigField{"bucket_window", &C::bucket_window, "bucketed: batches sorted by length together"},
    ConfigField{"n_layer", &C::n_layer, "Layers", architecture},
    ConfigField{"n_head", &C::n_head, "Attention heads of a layer", architecture},
    ConfigField{"n_embd", &C::n_embd, "Width of the model", architecture},
    ConfigField{"dropout", &C::dropout, "Dropout probability everywhere"},
    ConfigField{"attention_dropout", &C::attention_dropout, "On attention weights", training,
                "dropout"},
    ConfigField{"residual_dropout", &C::residual_dropout, "On what layers add", training,
                "dropout"},
    ConfigField{"embedding_dropout", &C::embedding_dropout, "On the embedding", training,
                "dropout"},
    ConfigField{"bias", &C::bias, "Biases in linear layers and layer norms", architecture},
    ConfigField{"tie_weights", &C::tie_weights, "The head shares the token embedding",
                architecture},
    ConfigField{"norm", &C::norm, "pre (GPT-2) or post (the original transformer)", architecture},
    ConfigField{"activation", &C::activation, "gelu_new, gelu or relu", architecture},
    ConfigField{"mlp", &C::mlp, "false: layers of attention alone", architecture},
    ConfigField{"dtype", &C::dtype,
                "Matrix products: float32, or bfloat16 (rounded operands, float32 sums)"},
    ConfigField{"optimizer", &C::optimizer, "adamw or sgd"},
    ConfigField{"learning_rate", &C::learning_rate, "Highest learning rate"},
    ConfigField{"min_lr", &C::min_lr, "Learning rate at lr_decay_iters and after", training,
                "learning_rate / 10"},
    ConfigField{"decay_lr", &C::decay_lr, "false: constant after the warm-up"},
    ConfigField{"lr_schedule", &C::lr_schedule, "cosine, linear or constant"},
    ConfigField{"warmup_iters", &C::warmup_iters, "Updates of linear warm-up", training,
                "max_iters / 20, at most 2000"},
    ConfigField{"lr_decay_iters", &C::lr_decay_iters, "Update at which min_lr is reached", training,
                "max_iters"},
    ConfigField{"max_iters", &C::max_iters, "Updates in all", free},
    ConfigField{"weight_decay", &C::weight_decay, "On tensors with two or more axes"},
    ConfigField{"beta1", &C::beta1, "AdamW: decay of the gradient's mean"},
    ConfigField{"beta2", &C::beta2, "AdamW: decay of the gradient's square"},
    ConfigField{"momentum", &C::momentum, "SGD: momentum"},
    ConfigField{"grad_clip", &C::grad_clip, "Largest global gradient norm; 0: off"},
    ConfigField{"eval_interval", &C::eval_interval, "Updates between evaluations", free},
    ConfigField{"eval_iters", &C::eval_iters, "Validation batches of an evaluation; 0: all", free},
    ConfigField{"eval_only", &C::eval_only,
                "Evaluate once what the run starts from or goes on from, and write nothing", free},
    ConfigField{"log_interval", &C::log_interval, "Updates between lines of the log", free},
    ConfigField{"always_save_checkpoint", &C::always_save_checkpoint,
                "false: only save at a better validation loss, and at the end", free},
    ConfigField{"save_interval", &C::save_interval,
                "Updates between checkpoints besides those of evaluations; 0: none", free},
    ConfigField{"keep_checkpoints", &C::keep_checkpoints, "Checkpoints kept besides the best",
                free},
    ConfigField{"track_heads", &C::track_heads,
                "Updates between scores of all heads in heads.jsonl; 0: none", free},
    ConfigField{
        "on_save_error", &C::on_save_error,
        "A checkpoint that cannot be written: stop (exit code 3), or continue and try again "
        "at the next",
        free},
    ConfigField{"on_nan", &C::on_nan,
                "A loss or gradient that is not finite: stop, skip (leave the update out), or "
                "rollback (to the last checkpoint, and on with the data after)",
                free},
    ConfigField{"skip_spikes", &C::skip_spikes,
                "Leave out updates whose loss lies so many standard deviations above the last 128; "
                "0: off"},
    ConfigField{"max_bad_updates", &C::max_bad_updates,
                "Updates left out in a row, or returns to one checkpoint, before the run stops",
                free},
    ConfigField{"seed", &C::seed, "Of weights, data order and dropout"},
};

// Names of other trainers for the same thing.
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
                              ConfigAlias{"attn_pdrop", "attention_dropout"},
                              ConfigAlias{"resid_pdrop", "residual_dropout"},
                              ConfigAlias{"embd_pdrop", "embedding_dropout"},
                              ConfigAlias{"lr", "learning_rate"},
                              ConfigAlias{"lr_scheduler_type", "lr_schedule"},
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

}  // namespace

std::span<const ConfigField> config_fields() { return kFields; }

std::span<const ConfigAlias> config_aliases() { return kAliases; }

std::span<const std::string_view> ignored_config_keys() { return kIgnored; }

}  // namespace headlight
