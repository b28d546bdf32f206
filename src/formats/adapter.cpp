#include "formats/adapter.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "base/printable.h"
#include "files/input_file.h"
#include "formats/families/families.h"
#include "formats/huggingface/config_reader.h"
#include "formats/huggingface/model_weights.h"
#include "headlight/autograd/autograd.h"
#include "headlight/files/file_writer.h"
#include "headlight/formats/model_directory.h"
#include "headlight/formats/run_layout.h"
#include "headlight/io/safetensors.h"
#include "headlight/nn/linear.h"
#include "headlight/nn/trained_parts.h"
#include "headlight/ops/layout.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestAdapterConfig = Index{1} << 20;  // bytes
constexpr std::string_view kPeftPrefix = "base_model.model.";
constexpr std::string_view kEndOfA = ".lora_A.weight";
constexpr std::string_view kEndOfB = ".lora_B.weight";

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

// Family whose names an adapter of this model has.
const ModelFamily& family_of_base(const fs::path& base, const GptConfig& config) {
  if (is_model_file(base)) {
    return family_for(config);
  }
  const fs::path path = base / "config.json";
  return *parse_model_config(read_whole_file(path, kLargestAdapterConfig), shown(path)).family;
}

const LowRankUpdate& update_at(const LoraPlace& place, const Gpt& model) {
  const auto* linear = dynamic_cast<const Linear*>(model.find_part(place.matrix));
  const auto& all = linear->updates();
  return *std::ranges::find(all, place.first_row, &LowRankUpdate::first_row);
}

// Name of a matrix after the number of its layer: "self_attn.q_proj".
std::string name_in_layer(const std::string& module) {
  const std::size_t digit = module.find_first_of("0123456789");
  return module.substr(module.find('.', digit) + 1);
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
          {"use_dora", false},
          {"bias", "none"},
          {"fan_in_fan_out", adapter.fan_in_fan_out},
          {"target_modules", targets},
          {"modules_to_save", nullptr},
          {"rank_pattern", Json::object()},
          {"alpha_pattern", Json::object()}};
}

Json adapter_json(const fs::path& directory) {
  const fs::path path = directory / kAdapterConfig;
  return parse_json(read_whole_file(path, kLargestAdapterConfig), shown(path));
}

// Throws Error for adapters that do not only add b a to weights.
void require_plain_lora(const ConfigReader& reader) {
  const std::string type = reader.text("peft_type", "LORA");
  require_value(type == "LORA", "peft_type", "expected LORA, got ", in_quotes(type));
  const std::string bias = reader.text("bias", "none");
  require_value(bias == "none", "bias", "expected none, got ", in_quotes(bias));
  for (const char* key : {"use_dora", "lora_bias", "use_qalora", "use_bdlora"}) {
    reader.require_default(key, false);
  }
  for (const char* key : {"modules_to_save", "layer_replication", "trainable_token_indices",
                          "target_parameters", "alora_invocation_tokens", "arrow_config"}) {
    const Json* value = reader.find(key);
    require_value(value == nullptr || value->is_null() || value->empty(), key, "is not supported");
  }
}

// The scale of each matrix, from adapter_config.json.
class Scales {
 public:
  explicit Scales(const ConfigReader& reader)
      : alpha_(reader.number("lora_alpha", 8)), rslora_(reader.boolean("use_rslora", false)) {
    if (const Json* pattern = reader.find("alpha_pattern"); pattern != nullptr) {
      for (const auto& [name, alpha] : pattern->members()) {
        constexpr std::string_view kPlain =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
            "0123456789_.";
        require_value(name.find_first_not_of(kPlain) == name.npos && alpha.is_number(),
                      "alpha_pattern", "expected plain names of modules and numbers, got ",
                      in_quotes(name));
        patterns_[name] = alpha.number();
      }
    }
  }

  double of(const std::string& module, Index rank) const {
    LoraOptions options{.rank = rank, .alpha = alpha_, .rslora = rslora_};
    for (const auto& [name, alpha] : patterns_) {
      if (module == name || module.ends_with("." + name)) {
        options.alpha = alpha;
      }
    }
    return options.scale();
  }

 private:
  double alpha_;
  bool rslora_;
  std::map<std::string, double> patterns_;
};

// Factors of one matrix in the file.
struct Factors {
  Tensor a;  // [R, I]
  Tensor b;  // [P, R]
};

// Returns the factors by module. Throws Error for tensors with other names.
std::map<std::string, Factors> read_factors(const fs::path& file) {
  const NamedTensors tensors = read_safetensors(file);
  require_finite(tensors, shown(file) + ": ");
  std::map<std::string, Factors> factors;
  for (const auto& [name, tensor] : tensors) {
    const bool is_a = name.ends_with(kEndOfA);
    require(
        name.starts_with(kPeftPrefix) && (is_a || name.ends_with(kEndOfB)) && tensor.rank() == 2,
        shown(file), ": tensor ", in_quotes(name), ": expected ", kPeftPrefix, "MODULE", kEndOfA,
        " or ", kEndOfB, " with two axes");
    Factors& both = factors[without_end(name.substr(kPeftPrefix.size()), is_a ? kEndOfA : kEndOfB)];
    (is_a ? both.a : both.b) = to_contiguous(convert(tensor, DType::float32));
  }
  for (const auto& [module, both] : factors) {
    require(both.a.defined() && both.b.defined() && both.a.size(0) == both.b.size(1), shown(file),
            ": module ", in_quotes(module), ": expected lora_A [R, I] and lora_B [P, R]");
  }
  return factors;
}

// Adds factors of a module to the rows of a weight that are stored under its name.
void add_factors(const StoredMatrix& matrix, const Factors& factors, double scale, Gpt& model) {
  const StoredTensor& stored = matrix.stored;
  const Index file_rows = stored.file_rows > 0 ? stored.file_rows : stored.rows;
  const Index inputs = matrix.weight.shape[1];
  require(factors.a.size(1) == inputs && factors.b.size(0) == file_rows, "module ",
          in_quotes(matrix.module), ": expected lora_A [R, ", inputs, "] and lora_B [", file_rows,
          ", R], got ", factors.a.shape(), " and ", factors.b.shape());
  const Tensor rows = slice(factors.b, 0, stored.file_begin, stored.file_begin + stored.rows);
  auto* linear = dynamic_cast<Linear*>(model.find_part(without_end(matrix.weight.name, ".weight")));
  const LowRankUpdate update{.a = factors.a,
                             .b = reordered_rows(to_contiguous(rows), stored.order),
                             .first_row = matrix.first_row,
                             .scale = scale};
  const NoGrad no_grad;
  linear->weight.copy_from(updated_weight(linear->weight, {&update, 1}));
}

}  // namespace

std::vector<LoraPlace> Adapter::places() const {
  std::vector<LoraPlace> result;
  for (const AdapterRow& row : rows) {
    result.push_back(row.place);
  }
  return result;
}

Adapter plan_adapter(const fs::path& base, const GptConfig& config, const LoraOptions& options,
                     const AdaptedParts& adapted) {
  const WeightLayout& layout = family_of_base(base, config).layout;
  const std::vector<StoredMatrix> matrices = stored_matrices(layout, config);
  require_targets(adapted.targets, matrices, config);
  Adapter adapter{.base = fs::absolute(base).lexically_normal(),
                  .options = options,
                  .in_all_layers = adapted.parts.empty(),
                  .rows = {}};
  for (const StoredMatrix& matrix : in_parts(matrices, adapted.parts)) {
    const std::vector<LoraTarget> own = targets_of(matrix, config);
    const bool is_chosen =
        adapted.targets.empty() ? matrix.stored.file_rows == 0 : has_all(adapted.targets, own);
    if (!is_chosen) {
      continue;
    }
    adapter.fan_in_fan_out = matrix.stored.transposed;
    adapter.rows.push_back({.place = {.matrix = without_end(matrix.weight.name, ".weight"),
                                      .name = joined_names(own),
                                      .first_row = matrix.first_row,
                                      .rows = matrix.stored.rows},
                            .module = matrix.module,
                            .order = matrix.stored.order});
  }
  require_value(!adapter.rows.empty(), "train", "no matrix of lora_targets is in '", adapted.parts,
                "'");
  return adapter;
}

NamedTensors adapter_tensors(const Adapter& adapter, const Gpt& model) {
  NamedTensors tensors;
  for (const AdapterRow& row : adapter.rows) {
    const LowRankUpdate& update = update_at(row.place, model);
    const RowOrder back{row.order.outer, row.order.second, row.order.first};
    const std::string name = std::string(kPeftPrefix) + row.module;
    tensors.emplace_back(name + std::string(kEndOfA), update.a.clone());
    tensors.emplace_back(name + std::string(kEndOfB),
                         reordered_rows(update.b.detach(), back).clone());
  }
  return tensors;
}

void write_adapter(const fs::path& directory, const Adapter& adapter, const NamedTensors& tensors) {
  write_file(directory / kAdapterConfig, config_json(adapter).dump(2) + "\n");
  write_safetensors(directory / kAdapterWeights, tensors);
}

void read_adapter(const fs::path& directory, const Adapter& adapter, Gpt& model) {
  const fs::path file = directory / kAdapterWeights;
  std::map<std::string, Factors> factors = read_factors(file);
  NamedTensors saved;
  NamedTensors updates;
  const auto add = [](const std::string& module, const Tensor& a, const Tensor& b,
                      NamedTensors& to) {
    to.emplace_back(module + std::string(kEndOfA), a);
    to.emplace_back(module + std::string(kEndOfB), b);
  };
  for (const AdapterRow& row : adapter.rows) {
    const LowRankUpdate& update = update_at(row.place, model);
    add(row.module, update.a, update.b, updates);
    if (const auto found = factors.find(row.module); found != factors.end()) {
      const Tensor& b = found->second.b;
      const bool fits = b.size(0) == row.place.rows;
      add(row.module, found->second.a, fits ? reordered_rows(b, row.order) : b, saved);
      factors.erase(found);
    }
  }
  for (const auto& [module, both] : factors) {
    add(module, both.a, both.b, saved);
  }
  copy_tensors(saved, updates, shown(file));
}

bool is_adapter(const fs::path& path) {
  std::error_code error;
  return fs::exists(path / kAdapterConfig, error) && !fs::exists(path / "model.safetensors", error);
}

fs::path base_of_adapter(const fs::path& directory) {
  const Json json = adapter_json(directory);
  return in_place(shown(directory / kAdapterConfig) + ": ", [&] {
    constexpr const char* kKey = "base_model_name_or_path";
    const fs::path named = ConfigReader(json).text(kKey, "");
    require_value(!named.empty(), kKey, "expected the folder of the base model, got none");
    for (const fs::path& path : {named, directory / named}) {
      std::error_code error;
      if (fs::exists(path, error)) {
        return fs::absolute(path).lexically_normal();
      }
    }
    fail_value(
        kKey, "expected the folder or file of the base model, got ", shown(named),
        ", which is not here; change it to the path of that model (and remove MANIFEST.json, "
        "if there is one)");
  });
}

void merge_adapter(const fs::path& directory, const fs::path& base, Gpt& model) {
  const Json json = adapter_json(directory);
  const auto scales = in_place(shown(directory / kAdapterConfig) + ": ", [&] {
    const ConfigReader reader(json);
    require_plain_lora(reader);
    return Scales(reader);
  });
  const fs::path file = directory / kAdapterWeights;
  const std::map<std::string, Factors> factors = read_factors(file);
  const WeightLayout& layout = family_of_base(base, model.config()).layout;
  std::set<std::string> known;
  in_place(shown(file) + ": ", [&] {
    for (const StoredMatrix& matrix : stored_matrices(layout, model.config())) {
      if (const auto found = factors.find(matrix.module); found != factors.end()) {
        known.insert(matrix.module);
        const Index rank = found->second.a.size(0);
        add_factors(matrix, found->second, scales.of(matrix.module, rank), model);
      }
    }
    for (const auto& [module, both] : factors) {
      require(known.contains(module), "module ", in_quotes(module),
              ": the base model has no such matrix");
    }
  });
}

}  // namespace headlight
