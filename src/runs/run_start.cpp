#include "runs/run_start.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "base/strings/printable.h"
#include "base/strings/split.h"
#include "datasets/fingerprint.h"
#include "formats/token_settings.h"
#include "headlight/base/build.h"
#include "headlight/datasets/batches/batcher.h"
#include "headlight/datasets/batches/sequential_batches.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "headlight/formats/chat_template/chat_model.h"
#include "headlight/formats/chat_template/known_templates.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/run_layout.h"
#include "headlight/kernels/machine/machine.h"
#include "headlight/nn/packed/packed_weights.h"
#include "headlight/nn/trained_parts.h"
#include "headlight/runs/checkpoint.h"
#include "headlight/runs/config_source.h"
#include "headlight/runs/starting_model.h"
#include "runs/new_tokens.h"
#include "runs/preference_reference.h"
#include "runs/resume_plan.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLoraStream = 4;

void append(std::vector<std::string>& lines, const std::vector<std::string>& more) {
  lines.insert(lines.end(), more.begin(), more.end());
}

// Returns the settings that the run had so far. A run killed before its first checkpoint has only
// config.toml.
TrainConfig read_past(RunStart& start) {
  const fs::path run = start.config.out_dir;
  if (!holds_run(run)) {
    require(fs::exists(run / kRunConfig), shown(run),
            ": no run to resume: expected checkpoints or a config.toml");
    start.notes.push_back(shown(run) + " has no checkpoint yet: starting from the beginning");
    return read_run_config(run);
  }
  start.checkpoint = find_latest_checkpoint(run, start.warnings);
  start.state = read_training_state(start.checkpoint);
  append(start.warnings, build_warnings(start.state));
  TrainConfig past = settings_of(start.state, start.checkpoint / kCheckpointState);
  locate_paths(past, run);
  return past;
}

// Adds a note if the learning rate stays at min_lr because only max_iters was increased.
void note_new_end(const TrainConfig& past, RunStart& start) {
  const TrainConfig& config = start.config;
  const LearningRateSchedule schedule = config.schedule();
  if (config.max_iters > past.max_iters && config.lr_decay_iters >= 0 &&
      schedule.kind != ScheduleKind::constant && schedule.decay_steps < config.max_iters) {
    start.notes.push_back(
        concat_text("from step ", schedule.decay_steps, " to ", config.max_iters,
                    " the learning rate is min_lr, ", schedule.min_learning_rate,
                    ", because lr_decay_iters is given; extend the schedule with ",
                    "--lr_decay_iters ", config.max_iters));
  }
}

// Keeps the finished warm-up of a wsd run, which a larger max_iters would otherwise lengthen.
void keep_warmup(const TrainConfig& past, Index done, TrainConfig& config) {
  const Index warmed = past.resolved().warmup_iters;
  if (is_named(config.lr_schedule, ScheduleKind::wsd) && config.warmup_iters < 0 &&
      done >= warmed && done < config.resolved().warmup_iters) {
    config.warmup_iters = warmed;
  }
}

// Warns if the learning rate was decaying and rises again because the schedule now ends later.
void warn_of_rise(const TrainConfig& past, RunStart& start) {
  const Index done = start.state.iteration;
  const LearningRateSchedule before = past.schedule();
  const LearningRateSchedule now = start.config.schedule();
  const bool has_new_end = now.decay_steps > before.decay_steps;
  const bool falls_later = has_new_end || now.decay_start() > before.decay_start();
  if (before.kind == ScheduleKind::constant || now.kind != before.kind || !falls_later ||
      done <= before.decay_start() || now.at(done) <= before.at(done)) {
    return;
  }
  start.warnings.push_back(concat_text(
      "the learning rate rises again: at step ", done, " the old schedule has ", before.at(done),
      ", the new one ", now.at(done),
      has_new_end ? concat_text("; --lr_decay_iters ", before.decay_steps, " --warmup_iters ",
                                before.warmup_steps, " keeps the old one")
                  : ""));
}

// Reads the checkpoint and records the changed settings. Returns the previous settings.
TrainConfig resume_settings(RunStart& start) {
  TrainConfig past = read_past(start);
  TrainConfig& config = start.config;
  if (config.init_from == kResume) {
    config.init_from = past.init_from;
  }
  if (config.lora_rank > 0 && config.base != past.base) {
    start.base = config.base;  // moved; its weights are compared
    past.base = config.base;
  } else if (config.lora_rank > 0 && config.init_from != past.init_from) {
    start.base = config.init_from;
    past.init_from = config.init_from;
  }
  const Index done = start.state.iteration;
  keep_warmup(past, done, config);
  const std::vector<SettingChange> changes = changed_settings(past, config, done);
  require_value(config.max_iters >= done, "max_iters", "expected at least ", done, " (",
                shown(start.checkpoint), " has made these steps), got ", config.max_iters);
  if (!start.checkpoint.empty()) {
    start.notes.push_back("resuming from " + shown(start.checkpoint) +
                          (done == config.max_iters
                               ? ", where the run is finished; a larger max_iters continues it"
                               : ""));
  }
  append(start.notes, lines_of(changes));
  note_new_end(past, start);
  warn_of_rise(past, start);
  start.state.changes.insert(start.state.changes.end(), changes.begin(), changes.end());
  return past;
}

// Gives the starting model the chat template of the settings.
void use_chat_template(RunStart& start, LoadedModel& loaded) {
  const std::string& name = start.config.chat_template;
  const std::string source = read_chat_template(name, loaded.tokenizer->chat_template());
  const std::string names = joined(ChatFormat(source, *loaded.tokenizer).missing_names(), ", ");
  require_value(start.config.lora_rank == 0 || names.empty(), "chat_template", "adds the tokens ",
                names,
                " to the model, which an adapter cannot hold; first write a model with them "
                "(headlight export ",
                shown(start.config.init_from), " --to hf --chat_template ", shown(name),
                " --out DIR) and start from it");
  set_chat_template(loaded, source);
  if (!names.empty()) {
    start.notes.push_back("added the tokens of the chat template: " + names);
  }
}

// Throws Error unless the settings describe the adapter that the run continues.
void require_same_adapter(const TrainConfig& config, const LoraOptions& adapter) {
  require_value(config.lora_rank == adapter.rank, "lora_rank", "expected ", adapter.rank,
                ", as in the adapter that the run continues, got ", config.lora_rank);
  require_value(config.lora().scale() == adapter.scale(), "lora_alpha", "expected a scale of ",
                adapter.scale(), ", as in the adapter that the run continues, got ",
                config.lora().scale());
  require_value(config.dora == adapter.dora, "dora", "expected ", adapter.dora ? "true" : "false",
                ", as in the adapter that the run continues");
}

// Freezes the parameters that the run does not train, and adds the adapter that it trains.
void choose_trained(RunStart& start, LoadedModel& loaded) {
  const TrainConfig& config = start.config;
  Gpt& model = *loaded.model;
  if (config.lora_rank == 0) {
    if (!config.train_parts.empty()) {
      train_only(model, config.train_parts);
    }
    return;
  }
  // The adapter that the run continues: its own, or one of another run or of PEFT.
  const fs::path earlier = is_adapter(loaded.directory) ? loaded.directory : fs::path();
  const fs::path base = earlier.empty() ? loaded.directory : base_of_adapter(earlier, start.base);
  AdaptedParts adapted{config.adapted(), config.train_parts};
  std::vector<std::int32_t> tokens;
  if (!earlier.empty()) {
    const EarlierAdapter values = read_earlier_adapter(earlier);
    require_same_adapter(config, values.options);
    adapted.modules = values.modules;
    tokens = values.tokens;
  }
  start.adapter = plan_adapter(base, model.config(), config.lora(), adapted);
  add_lora(model, start.adapter->modules(), config.lora(),
           {static_cast<std::uint64_t>(config.seed), kLoraStream});
  if (!tokens.empty()) {
    model.train_rows(tokens);
    start.adapter->tokens = std::move(tokens);
  }
  if (!earlier.empty()) {
    read_adapter(earlier, *start.adapter, model);
  }
  if (const WeightFormat format = format_of(config.matrix_form());
      format != WeightFormat::float32) {
    pack_matrices(model, format);
  }
}

// Returns the bytes of the weights with base_weights = stored, else 0.
double stored_bytes(const TrainConfig& config, const fs::path& from, const fs::path& base) {
  if (config.matrix_form() != MatrixForm::stored) {
    return 0;
  }
  const std::optional<double> bytes = stored_weight_bytes(from, true, base);
  require_value(bytes.has_value(), "base_weights",
                "stored needs the blocks of a GGUF file, such as ", "Q4_K, which ", shown(from),
                " does not have; choose float32, bfloat16 or int8");
  return *bytes;
}

// Loads the model to resume or to start from; returns an empty LoadedModel for a new run.
LoadedModel initial_model(RunStart& start, Index processes,
                          const std::function<void(double)>& on_loading) {
  const TrainConfig& config = start.config;
  if (start.checkpoint.empty() && !starts_from_model(config)) {
    return {};
  }
  const fs::path from = start.checkpoint.empty() ? fs::path(config.init_from) : start.checkpoint;
  const bool adds_adapter = config.lora_rank == 0;  // to the weights, instead of training it
  const double stored = stored_bytes(config, from, start.base);
  LoadedModel loaded =
      load_model(from, {.adjust =
                            [&](GptConfig& model) {
                              if (std::string note = fit_to_run(model, config); !note.empty()) {
                                start.notes.push_back(std::move(note));
                              }
                              start.memory = plan_memory(config, model, processes, stored);
                              // The data decides how large a batch is; it is not read yet.
                              MemoryPlan without_batch = start.memory;
                              without_batch.activations = 0;
                              require_memory(without_batch);
                            },
                        .adapter = adds_adapter,
                        .base = start.base,
                        .matrices = stored > 0 ? std::optional(MatrixForm::stored) : std::nullopt,
                        .layers_only = true,
                        .warn = [&](const std::string& line) { start.warnings.push_back(line); },
                        .progress = on_loading});
  if (start.checkpoint.empty() && !config.chat_template.empty()) {
    use_chat_template(start, loaded);
  }
  choose_trained(start, loaded);
  return loaded;
}

void require_vocabulary(const TrainConfig& config, Index ids) {
  // bpe learns fewer tokens than vocab_size if the text has no more pairs.
  const bool ran_out = is_named(config.tokenizer, NewTokenizer::bpe) && ids < config.vocab_size;
  require_value(config.vocab_size == 0 || config.vocab_size == ids || ran_out, "vocab_size",
                "expected ", ids, " (the size of the tokenizer) or 0, got ", config.vocab_size);
}

// Throws Error for unusable validation data at the start, not at the first evaluation.
void require_targets(const TrainConfig& config, const TokenDataset& validation) {
  require(validation.sequences.empty() || has_targets(validation),
          config.validation_data.empty() ? "validation_fraction" : "validation_data",
          ": expected at least two consecutive tokens, got ", validation.token_count, " tokens in ",
          validation.sequences.size(), " parts; give more text",
          config.validation_data.empty() ? " or validation_fraction = 0" : "");
}

// Throws Error for an invalid sample prompt at the start, not at the first sample.
void require_prompt(const TrainConfig& config, const Tokenizer& tokenizer) {
  if (config.sample_interval > 0) {
    in_place("sample_prompt: ",
             [&] { std::ignore = tokenizer.encode_prompt(config.sample_prompt); });
  }
}

// Sets the position in the data if an earlier part of the run made its batches differently.
void resume_data(const TrainConfig& past, RunStart& start) {
  const TokenDataset& train = start.data.train;
  const Index batches = Batcher(train, start.config.batcher()).batches_per_epoch();
  const DataPosition& before = start.state.data;
  const DataPosition now{
      .batches_per_epoch = batches, .tokens = train.token_count, .content = start.content};
  const DataPlan plan = plan_data({past, before}, {start.config, now}, start.state);
  UpdateHistory& history = start.state.history;
  if (plan.start != history.data_start) {
    history.data_start = plan.start;
    history.data_shift = 0;
  }
  if (!plan.note.empty()) {
    // Warn if the data changed although the settings did not: for example, a file was replaced.
    const bool unasked = !before.tokens_are(now) && past.data == start.config.data;
    (unasked ? start.warnings : start.notes).push_back(plan.note);
  }
}

bool evaluates_all(const TrainConfig& config, const TokenDataset& validation) {
  return config.eval_iters == 0 ||
         SequentialBatches(validation, config.batcher()).count() <= config.eval_iters;
}

// Resets the best loss if the validation tokens changed, because the losses are not comparable.
void resume_validation(const TrainConfig& past, RunStart& start) {
  const TrainConfig& config = start.config;
  const TokenDataset& validation = start.data.validation;
  const DataPosition& before = start.state.data;
  const DataPosition now{.validation_tokens = validation.token_count,
                         .validation_content = start.validation_content};
  if (before.validation_tokens == 0 || validation.sequences.empty()) {
    return;
  }
  std::string note;
  if (!before.validation_is(now)) {
    note = concat_text("validation: different text than before: ", before.validation_tokens,
                       " tokens, now ", now.validation_tokens, "; the run may have trained on it");
  } else if ((past.batch_size != config.batch_size || past.eval_iters != config.eval_iters) &&
             !(evaluates_all(past, validation) && evaluates_all(config, validation))) {
    note = "validation: batch_size and eval_iters select different batches than before";
  }
  if (!note.empty()) {
    start.notes.push_back(note + ": the best loss is reset");
    start.state.best_validation_loss = std::numeric_limits<double>::infinity();
    start.state.without_better = 0;
  }
}

std::vector<std::pair<std::string, std::string>> identity_of(const RunStart& start) {
  return {{"build", start.state.build},
          {"CPU variant", start.state.cpu_variant},
          {"products", start.state.products},
          {"settings", start.state.config},
          {"data", start.content},
          {"validation data", start.validation_content},
          {"update", std::to_string(start.state.iteration)},
          {"weights", fingerprint(*start.model)}};
}

// Completes the memory plan with the data: its bytes, and the size of its largest batch. Throws
// Error if the plan exceeds the available memory.
void require_memory_with_data(RunStart& start, double bytes) {
  const BatcherOptions options = start.config.batcher();
  Index tokens = most_batch_tokens(start.data.train, options);
  if (!start.data.validation.sequences.empty()) {
    tokens = std::max(tokens, most_batch_tokens(start.data.validation, options));
  }
  start.memory.activations *=
      static_cast<double>(tokens) / static_cast<double>(options.batch_size * options.block_size);
  start.memory.data = bytes;
  require_memory(start.memory);
}

// Sets max_iters from epochs, and an eval_interval that was not given.
void set_length(RunStart& start) {
  TrainConfig& config = start.config;
  if (config.epochs > 0) {
    const Index batches = Batcher(start.data.train, config.batcher()).batches_per_epoch();
    const double steps = config.epochs * static_cast<double>(batches) /
                         static_cast<double>(config.gradient_accumulation_steps);
    config.max_iters = std::max<Index>(1, static_cast<Index>(std::ceil(steps)));
    start.notes.push_back(concat_text("epochs ", config.epochs, ": ", config.max_iters, " steps"));
  }
  config.eval_interval = config.resolved().eval_interval;
}

}  // namespace

void require_same_start(Processes& processes, const RunStart& start) {
  if (processes.count() == 1) {
    return;
  }
  for (const auto& [name, value] : identity_of(start)) {
    const std::vector<std::string> all = gather_texts(processes, value);
    together(processes, [&, &what = name, &local = value] {
      require(local == all.front(), what, ": differs between processes: process 0 has ",
              escaped(all.front()), ", this process has ", escaped(local));
    });
  }
}

RunStart prepare_run(const TrainConfig& config, bool resume, Index processes,
                     const StartProgress& progress) {
  if (resume) {
    require_lasting_data(config);
  }
  std::ignore = config.shard_count(processes);
  RunStart start;
  start.config = config;
  const TrainConfig past = resume ? resume_settings(start) : config;
  if (start.checkpoint.empty()) {
    start.base = start.config.base;
    require_value(start.base.empty() || starts_from_model(start.config), "base",
                  "needs an adapter; name it with init_from");
  }
  LoadedModel loaded = initial_model(start, processes, progress.loading);
  if (loaded.tokenizer != nullptr && start.checkpoint.empty()) {
    if (std::string line = dropped_settings(loaded.directory, *loaded.tokenizer); !line.empty()) {
      start.warnings.push_back(std::move(line));
    }
  }
  start.data = load_training_data(start.config, std::move(loaded.tokenizer), progress.reading);
  append(start.notes, start.data.notes);
  append(start.warnings, start.data.warnings);
  append(start.warnings, contradictions(start.config));
  require_targets(start.config, start.data.validation);
  start.content = fingerprint_of_tokens(start.data.train);
  start.validation_content = fingerprint_of_tokens(start.data.validation);
  if (!start.checkpoint.empty()) {
    resume_data(past, start);
    resume_validation(past, start);
  }
  const auto data = static_cast<double>(bytes_in_memory(start.data.train) +
                                        bytes_in_memory(start.data.validation));
  set_length(start);
  const Index ids = start.data.tokenizer->vocab_size();
  require_vocabulary(start.config, ids);
  require_prompt(start.config, *start.data.tokenizer);
  start.model = std::move(loaded.model);
  if (start.model != nullptr) {
    train_new_tokens(start, *start.model);
  }
  prepare_preferences(start);
  if (start.model == nullptr) {
    const GptConfig model = start.config.model(ids);
    start.memory = plan_memory(start.config, model, processes);
    start.memory.available += start.memory.available > 0 ? data : 0;  // already allocated
    require_memory_with_data(start, data);
    start.model = std::make_unique<Gpt>(model, static_cast<std::uint64_t>(start.config.seed));
  } else {
    require_memory_with_data(start, data);
  }
  start.state.config = to_toml(start.config);
  start.state.build = build_description();
  start.state.cpu_variant = std::string(cpu_variant_name());
  start.state.products = products_description();
  return start;
}

}  // namespace headlight
