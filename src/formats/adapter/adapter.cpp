#include "formats/adapter/adapter.h"

#include <algorithm>

#include "base/strings/printable.h"
#include "formats/adapter/adapter_config.h"
#include "formats/adapter/stored_adapter.h"
#include "formats/huggingface/model_weights.h"
#include "headlight/formats/arrays/safetensors.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/run_layout.h"
#include "headlight/nn/linear.h"
#include "headlight/nn/trained_parts.h"
#include "headlight/ops/layout.h"
#include "headlight/storage/file_writer.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEndOfA = ".lora_A.weight";
constexpr std::string_view kEndOfB = ".lora_B.weight";
constexpr std::string_view kEndOfLengths = ".lora_magnitude_vector";
constexpr std::string_view kEndOfRows = ".token_adapter.trainable_tokens_delta";

// A matrix of a family's files that holds rows of a weight.
struct StoredMatrix {
  Weight weight;
  Index first_row = 0;  // in the weight
  StoredTensor stored;
  std::string module;  // name in PEFT
};

std::string without_end(const std::string& name, std::string_view end) {
  return name.substr(0, name.size() - end.size());
}

// Returns the matrices inside layers, in the order of weights_of().
std::vector<StoredMatrix> stored_matrices(const WeightLayout& layout, const GptConfig& config) {
  std::vector<StoredMatrix> matrices;
  for (const Weight& weight : weights_of(config)) {
    if (!is_hidden_matrix(weight)) {
      continue;
    }
    Index first = 0;
    for (const StoredTensor& stored : layout.tensors_of(weight, config)) {
      matrices.push_back({weight, first, stored,
                          std::string(layout.prefix) + without_end(stored.name, ".weight")});
      first += stored.rows;
    }
  }
  return matrices;
}

// Returns the targets that a stored matrix holds.
std::vector<LoraTarget> targets_of(const StoredMatrix& matrix, const GptConfig& config) {
  using enum LoraTarget;
  switch (matrix.weight.part) {
    case Part::query_key_value: {
      if (matrix.stored.rows == matrix.weight.shape[0]) {
        return {q, k, v};
      }
      const AttentionPlan plan = block_plan(config, matrix.weight.layer).attention;
      return {matrix.first_row == 0 ? q : matrix.first_row == plan.part_begin(1) ? k : v};
    }
    case Part::attention_output:
      return {o};
    case Part::mlp_gate:
      return {gate};
    case Part::mlp_in:
      return {up};
    default:
      return {down};
  }
}

std::string joined_names(const std::vector<LoraTarget>& targets) {
  std::string names;
  for (const LoraTarget target : targets) {
    names += name_of(target);
  }
  return names;
}

bool has_all(const std::vector<LoraTarget>& given, const std::vector<LoraTarget>& wanted) {
  return std::ranges::all_of(
      wanted, [&](LoraTarget target) { return std::ranges::count(given, target) > 0; });
}

bool has_any(const std::vector<LoraTarget>& given, const std::vector<LoraTarget>& wanted) {
  return std::ranges::any_of(
      wanted, [&](LoraTarget target) { return std::ranges::count(given, target) > 0; });
}

// Throws Error unless the matrices of a model hold each target, and none of them only in part.
void require_targets(const std::vector<LoraTarget>& given, const std::vector<StoredMatrix>& all,
                     const GptConfig& config) {
  std::vector<LoraTarget> held;
  for (const StoredMatrix& matrix : all) {
    const std::vector<LoraTarget> own = targets_of(matrix, config);
    held.insert(held.end(), own.begin(), own.end());
    require_value(!has_any(given, own) || has_all(given, own), "lora_targets",
                  "expected q, k and v together: this model stores them as one matrix, ",
                  matrix.module);
    require_value(!has_any(given, own) || matrix.stored.file_rows == 0, "lora_targets",
                  joined_names(own), ": this model stores it inside of a larger matrix, ",
                  matrix.module);
  }
  for (const LoraTarget target : given) {
    require_value(std::ranges::count(held, target) > 0, "lora_targets", name_of(target),
                  ": the model has no such matrix");
  }
}

// Returns the matrices in these parts of the model; "": all.
std::vector<StoredMatrix> in_parts(const std::vector<StoredMatrix>& matrices,
                                   const std::string& parts) {
  if (parts.empty()) {
    return matrices;
  }
  std::vector<std::string> names;
  for (const StoredMatrix& matrix : matrices) {
    names.push_back(matrix.weight.name);
  }
  const std::vector<bool> is_in = in_trained_parts(names, parts);
  std::vector<StoredMatrix> kept;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    if (is_in[i]) {
      kept.push_back(matrices[i]);
    }
  }
  return kept;
}

const LowRankUpdate& update_at(const LoraModule& target, const Gpt& model) {
  const auto* linear = dynamic_cast<const Linear*>(model.find_part(target.matrix));
  const auto& all = linear->updates();
  return *std::ranges::find(all, target.first_row, &LowRankUpdate::first_row);
}

// Name of a matrix after the number of its layer: "self_attn.q_proj".
std::string name_in_layer(const std::string& module) {
  const std::size_t digit = module.find_first_of("0123456789");
  return module.substr(module.find('.', digit) + 1);
}

// Returns the parameters of Gpt::train_rows(): of the token embedding, then of the head.
std::vector<Tensor> trained_rows(const Gpt& model) {
  std::vector<Tensor> rows;
  for (const auto& [name, tensor] : model.parameters()) {
    if (name.ends_with(".trained_rows")) {
      rows.push_back(tensor);
    }
  }
  return rows;
}

// Returns the modules whose rows Gpt::train_rows() trains.
std::vector<std::string> token_modules(const WeightLayout& layout, const GptConfig& config) {
  const std::string embedding = stored_name(Part::token_embedding, layout);
  std::vector<std::string> modules{without_end(full_name(embedding, layout), ".weight")};
  if (!config.tie_weights && !config.has_head_bias()) {
    modules.push_back(without_end(std::string(layout.head), ".weight"));
  }
  return modules;
}

// Returns the end of a module's name: "embed_tokens".
std::string last_name(const std::string& module) { return module.substr(module.rfind('.') + 1); }

// Returns the value of trainable_token_indices.
Json tokens_json(const Adapter& adapter) {
  Json json;  // null without tokens
  for (const std::string& module : adapter.token_modules) {
    if (!adapter.tokens.empty()) {
      json.add(last_name(module), adapter.tokens);
    }
  }
  return json;
}

// Returns rank_pattern or alpha_pattern: the values of modules that differ from the others. PEFT
// reads the names as regular expressions, which match themselves.
template <class T>
Json pattern_json(const Adapter& adapter, std::optional<T> LoraModule::*field, T default_value) {
  Json json = Json::object();
  for (const AdapterRow& row : adapter.rows) {
    if (const T value = (row.target.*field).value_or(default_value); value != default_value) {
      json.add(row.module, value);
    }
  }
  return json;
}

Json config_json(const Adapter& adapter) {
  std::vector<std::string> targets;
  for (const AdapterRow& row : adapter.rows) {
    const std::string name = adapter.in_all_layers ? name_in_layer(row.module) : row.module;
    if (std::ranges::count(targets, name) == 0) {
      targets.push_back(name);
    }
  }
  return {{"peft_type", "LORA"},
          {"task_type", "CAUSAL_LM"},
          {"base_model_name_or_path", adapter.base.string()},
          {"inference_mode", true},
          {"r", adapter.options.rank},
          {"lora_alpha", adapter.options.alpha},
          {"lora_dropout", adapter.options.dropout},
          {"use_rslora", adapter.options.rslora},
          {"use_dora", adapter.options.dora},
          {"bias", "none"},
          {"fan_in_fan_out", adapter.fan_in_fan_out},
          {"target_modules", targets},
          {"modules_to_save", nullptr},
          {"trainable_token_indices", tokens_json(adapter)},
          {"rank_pattern", pattern_json(adapter, &LoraModule::rank, adapter.options.rank)},
          {"alpha_pattern", pattern_json(adapter, &LoraModule::alpha, adapter.options.alpha)}};
}

}  // namespace

std::vector<LoraModule> Adapter::modules() const {
  std::vector<LoraModule> result;
  for (const AdapterRow& row : rows) {
    result.push_back(row.target);
  }
  return result;
}

Adapter plan_adapter(const fs::path& base, const GptConfig& config, const LoraOptions& options,
                     const AdaptedParts& adapted) {
  const WeightLayout& layout = family_of_base(base, config).layout;
  const std::vector<StoredMatrix> matrices = stored_matrices(layout, config);
  require_targets(adapted.targets, matrices, config);
  Adapter adapter{.base = fs::canonical(base),
                  .fingerprint = weights_fingerprint(base),
                  .options = options,
                  .in_all_layers = adapted.parts.empty() && adapted.modules.empty(),
                  .rows = {},
                  .token_modules = token_modules(layout, config)};
  for (const StoredMatrix& matrix : in_parts(matrices, adapted.parts)) {
    const std::vector<LoraTarget> own = targets_of(matrix, config);
    const bool is_target =
        adapted.targets.empty() ? matrix.stored.file_rows == 0 : has_all(adapted.targets, own);
    const auto earlier = adapted.modules.find(matrix.module);
    const bool is_earlier = earlier != adapted.modules.end();
    if (!is_target || !(is_earlier || adapted.modules.empty())) {
      continue;
    }
    adapter.fan_in_fan_out = matrix.stored.transposed;
    adapter.rows.push_back({.target = {.matrix = without_end(matrix.weight.name, ".weight"),
                                       .name = joined_names(own),
                                       .first_row = matrix.first_row,
                                       .rows = matrix.stored.rows,
                                       .rank = is_earlier ? earlier->second.rank : options.rank,
                                       .alpha = is_earlier ? earlier->second.alpha : options.alpha},
                            .module = matrix.module,
                            .order = matrix.stored.order});
  }
  for (const auto& [module, size] : adapted.modules) {
    require(std::ranges::count(adapter.rows, module, &AdapterRow::module) > 0, in_quotes(module),
            ": the adapter updates it, but this run cannot: expected matrices of layers, and no "
            "lora_targets or train without it");
  }
  require_value(!adapter.rows.empty(), "train", "no matrix of lora_targets is in '", adapted.parts,
                "'");
  return adapter;
}

NamedTensors adapter_tensors(const Adapter& adapter, const Gpt& model) {
  NamedTensors tensors;
  for (const AdapterRow& row : adapter.rows) {
    const LowRankUpdate& update = update_at(row.target, model);
    const RowOrder back{row.order.outer, row.order.second, row.order.first};
    const std::string name = std::string(kPeftPrefix) + row.module;
    tensors.emplace_back(name + std::string(kEndOfA), update.a.clone());
    tensors.emplace_back(name + std::string(kEndOfB),
                         reordered_rows(update.b.detach(), back).clone());
    if (update.lengths.defined()) {
      tensors.emplace_back(name + std::string(kEndOfLengths),
                           reordered_rows(update.lengths.detach(), back).clone());
    }
  }
  const std::vector<Tensor> rows = trained_rows(model);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    tensors.emplace_back(concat_text(kPeftPrefix, adapter.token_modules[i], kEndOfRows),
                         rows[i].detach().clone());
  }
  return tensors;
}

void write_adapter(const fs::path& directory, const Adapter& adapter, const NamedTensors& tensors) {
  write_file(directory / kAdapterConfig, config_json(adapter).dump(2) + "\n");
  write_safetensors(directory / kAdapterWeights, tensors, adapter_metadata(adapter));
}

void read_adapter(const fs::path& directory, const Adapter& adapter, Gpt& model) {
  const fs::path file = directory / kAdapterWeights;
  NamedTensors saved = read_safetensors(file);
  require_finite(saved, shown(file) + ": ");
  for (auto& [name, tensor] : saved) {
    tensor = convert(tensor, model.dtype());
  }
  NamedTensors values = adapter_tensors(adapter, model);
  copy_tensors(saved, values, shown(file));
  std::size_t i = 0;
  for (const AdapterRow& row : adapter.rows) {
    const LowRankUpdate& update = update_at(row.target, model);
    update.a.detach().copy_from(values[i++].second);
    update.b.detach().copy_from(reordered_rows(values[i++].second, row.order));
    if (update.lengths.defined()) {
      update.lengths.detach().copy_from(reordered_rows(values[i++].second, row.order));
    }
  }
  for (const Tensor& rows : trained_rows(model)) {
    rows.detach().copy_from(values[i++].second);
  }
}

EarlierAdapter read_earlier_adapter(const fs::path& directory) {
  const std::string where = shown(directory);
  require(
      !is_model_file(directory), where,
      ": a GGUF file of an adapter cannot be trained; make a whole model of it first (headlight "
      "export --to hf)");
  const StoredAdapter adapter = read_peft_adapter(directory);
  const AdapterSettings settings = read_adapter_settings(read_adapter_json(directory));
  constexpr const char* kInstead =
      ", which a run cannot train; make a whole model of it first (headlight export --to hf)";
  require(adapter.weights.empty(), where, ": has the whole tensor ",
          adapter.weights.empty() ? "" : in_quotes(adapter.weights.begin()->first), kInstead);
  EarlierAdapter earlier{.options = {.rank = settings.rank,
                                     .alpha = settings.alpha,
                                     .rslora = settings.rslora,
                                     .dora = settings.dora}};
  for (const auto& [module, update] : adapter.updates) {
    earlier.modules[module] = {update.a.size(0), settings.alpha_of(module)};
  }
  for (const auto& [module, rows] : adapter.rows) {
    require(
        std::ranges::is_sorted(rows.ids) && (earlier.tokens.empty() || earlier.tokens == rows.ids),
        where, ": ", in_quotes(module),
        " has tokens that are not in ascending order, or others than the head", kInstead);
    earlier.tokens = rows.ids;
  }
  return earlier;
}

}  // namespace headlight
