#include "runs/resume_plan.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "base/strings/printable.h"
#include "headlight/base/build.h"
#include "headlight/base/error.h"
#include "headlight/datasets/text_files.h"
#include "headlight/kernels/machine/machine.h"
#include "headlight/runs/config_source.h"

namespace headlight {
namespace {

constexpr std::string_view kOutDir = "out_dir";

// Returns true when both configurations name the same files in the same order.
bool are_same_files(const ConfigField& field, const TrainConfig& before, const TrainConfig& now) {
  const std::vector<std::string> old = texts_of(before, field);
  const std::vector<std::string> present = texts_of(now, field);
  return std::equal(old.begin(), old.end(), present.begin(), present.end(),
                    [](const std::string& a, const std::string& b) {
                      std::error_code error;
                      const WeightedName old_name = split_weight(a);
                      const WeightedName new_name = split_weight(b);
                      return old_name.weight == new_name.weight &&
                             (old_name.name == new_name.name ||
                              std::filesystem::equivalent(old_name.name, new_name.name, error));
                    });
}

bool is_same(const ConfigField& field, const TrainConfig& before, const TrainConfig& now) {
  const std::string old = config_value(before, field);
  const std::string present = config_value(now, field);
  return old == present || (field.is_path && are_same_files(field, before, now));
}

// Throws Error for another optimizer, because moments cannot be converted.
void require_same_optimizer(const TrainConfig& before, const TrainConfig& now) {
  require_value(before.optimizer == now.optimizer, "optimizer", "the run uses ", before.optimizer,
                ", got ", now.optimizer, "; continue with --optimizer ", before.optimizer,
                ", or start a new run from its weights: --init_from ", shown(now.out_dir),
                " and another --out_dir");
}

bool is_same_data(const BatchingState& before, const BatchingState& now) {
  const auto reading = [](const TrainConfig& config) {
    return std::tie(config.documents, config.separator, config.jsonl, config.special_tokens);
  };
  return before.position.tokens_are(now.position) && reading(before.config) == reading(now.config);
}

std::string data_note(const BatchingState& before, const BatchingState& now) {
  if (before.position.tokens_are(now.position)) {
    return "";
  }
  return concat_text("data: different text than the run has trained on so far: ",
                     before.position.tokens, " tokens before, now ", now.position.tokens);
}

std::string joined_notes(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

// Returns the same position in the epoch's order, which does not depend on the batch size.
DataPlan same_position(const BatchingState& before, const BatchingState& now, Index update) {
  const DataPosition& old = before.position;
  const Index done = old.batch * before.config.batch_size;  // sequences of the epoch already used
  const Index batch = done / now.config.batch_size;
  const Index again = done % now.config.batch_size;
  return {.start = {.update = update, .batch = old.epoch * now.position.batches_per_epoch + batch},
          .note = again == 0
                      ? ""
                      : concat_text("data: epoch ", old.epoch + 1, " continues after ",
                                    done - again, " sequences; ", again, " of them are repeated")};
}

DataPlan next_epoch(const BatchingState& before, const BatchingState& now, Index update) {
  const DataPosition& old = before.position;
  const Index epoch = old.epoch + (old.batch > 0 ? 1 : 0);
  return {
      .start = {.update = update, .batch = epoch * now.position.batches_per_epoch},
      .note = joined_notes(
          data_note(before, now),
          old.batch == 0 ? ""
                         : concat_text("epoch ", old.epoch + 1, " of the data ends after ",
                                       old.batch, " of its ", old.batches_per_epoch,
                                       " batches; epoch ", epoch + 1, " begins in a new order"))};
}

}  // namespace

TrainConfig settings_of(const TrainingState& state, const std::filesystem::path& where) {
  TrainConfig config;
  const std::vector<ConfigEntry> entries = parse_config(state.config, where);
  in_place(where.string() + ": ", [&] {
    for (const ConfigEntry& entry : entries) {
      set_config_entry(config, entry);
    }
    require_allowed_values(config);
  });
  return config;
}

std::vector<SettingChange> changed_settings(const TrainConfig& before, const TrainConfig& now,
                                            Index iteration) {
  const TrainConfig old = before.resolved();
  const TrainConfig present = now.resolved();
  std::vector<SettingChange> changes;
  std::string refused;
  for (const ConfigField& field : config_fields()) {
    if (field.key == kOutDir || is_same(field, old, present)) {
      continue;
    }
    const SettingChange change{.iteration = iteration,
                               .key = std::string(field.key),
                               .before = toml_value(old, field),
                               .after = toml_value(present, field)};
    if (field.role == ConfigRole::architecture || field.role == ConfigRole::start) {
      refused += (refused.empty() ? "" : "; ") + change.key + " was " + change.before +
                 ", is now " + change.after;
    }
    changes.push_back(change);
  }
  require(refused.empty(),
          "--resume: a run cannot change its model, its tokenizer or its starting point: ", refused,
          "; start a new run with another --out_dir");
  require_same_optimizer(before, now);
  return changes;
}

std::vector<std::string> lines_of(const std::vector<SettingChange>& changes) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const SettingChange& change = changes[i];
    const bool begins = i == 0 || changes[i - 1].iteration != change.iteration;
    if (begins) {
      lines.push_back(concat_text("after step ", change.iteration, ": "));
    }
    lines.back() +=
        (begins ? "" : ", ") + change.key + " = " + change.after + " (was " + change.before + ")";
  }
  return lines;
}

DataPlan plan_data(const BatchingState& before, const BatchingState& now,
                   const TrainingState& state) {
  const DataPosition& old = before.position;
  const DataStart next{.update = state.iteration,
                       .batch = old.epoch * old.batches_per_epoch + old.batch};
  const bool same_data = is_same_data(before, now);
  const BatcherOptions batching = now.config.batcher();
  const BatcherOptions old_batching = before.config.batcher();
  if (same_data && old.batches_per_epoch == now.position.batches_per_epoch &&
      batching == old_batching) {
    const bool same_steps =
        before.config.gradient_accumulation_steps == now.config.gradient_accumulation_steps;
    return {.start = same_steps ? state.history.data_start : next, .note = ""};
  }
  const bool same_batching = batching.batching == old_batching.batching;
  if (same_batching && batching.batching == Batching::packed) {
    return {.start = next, .note = data_note(before, now)};
  }
  if (same_batching && batching.batching == Batching::padded && same_data &&
      batching.seed == old_batching.seed) {
    return same_position(before, now, state.iteration);
  }
  return next_epoch(before, now, state.iteration);
}

std::vector<std::string> build_warnings(const TrainingState& state) {
  std::vector<std::string> warnings;
  const auto compare = [&](const char* what, const std::string& before, const std::string& now) {
    if (!before.empty() && before != now) {
      warnings.push_back(std::string("--resume: the checkpoint was written ") + what + " " +
                         before + ", now " + now + ": rounding may differ");
    }
  };
  compare("by headlight", state.build, build_description());
  compare("with the CPU variant", state.cpu_variant, std::string(cpu_variant_name()));
  compare("with products by", state.products, products_description());
  return warnings;
}

}  // namespace headlight
