#include "formats/families/families.h"

#include <algorithm>

#include "base/strings/printable.h"
#include "formats/families/round_trip.h"
#include "formats/token_settings.h"
#include "formats/word_list.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr double kTolerance = 1e-9;  // of numbers that files have in other units

// Keys of transformers that do not change a model's function: its origin and storage, special
// tokens (see TokenSettings), heads for other tasks.
constexpr std::string_view kIgnoredConfigKeys =
    "model_type architectures torch_dtype dtype transformers_version _name_or_path name_or_path "
    "_commit_hash transformers.js_config auto_map unsloth_version unsloth_fixed "
    "attn_implementation _attn_implementation _attn_implementation_autoset use_cache "
    "cache_implementation gradient_checkpointing initializer_range bos_token_id eos_token_id "
    "pad_token_id sep_token_id decoder_start_token_id tokenizer_class prefix problem_type "
    "finetuning_task task_specific_params id2label label2id num_labels return_dict output_scores "
    "classifier_dropout summary_type summary_use_proj summary_activation summary_proj_to_labels "
    "summary_first_dropout reorder_and_upcast_attn pretraining_tp "
    "is_llama_config rope_interleaved _sliding_window_pattern gradient_checkpointing "
    "pooler_fc_size "
    "pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type "
    "directionality init_std";

// Keys of transformers that change the function of models of every family.
constexpr std::pair<const char*, const char*> kUnsupported[] = {
    {"quantization_config", "quantised weights are not supported; GGUF files are"},
    {"per_layer_config", "layers of different kinds are not supported"},
    {"pruned_heads", "heads that config.json removes are not supported"}};

// Throws Error for values of keys that every family of transformers has.
void require_supported(const ConfigReader& reader, bool causal) {
  for (const auto& [key, reason] : kUnsupported) {
    const Json* value = reader.find(key);
    require_value(value == nullptr || !has_value(*value), key, reason);
  }
  (causal ? reader : reader.or_null()).require_default("is_causal", causal);
}

// Returns keys with values that were not looked up and may have a meaning.
std::vector<std::string> unread_keys(const Json& json, const ReadKeys& read_keys) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.members()) {
    if (!has_word(kIgnoredConfigKeys, key) && !read_keys.contains(key) && has_value(value)) {
      keys.push_back(key);
    }
  }
  return keys;
}

GptConfig read_keys(const ModelFamily& family, const ConfigReader& reader) {
  GptConfig config;
  family.keys(ConfigKeys(reader), config);
  return config;
}

Json written_keys(const ModelFamily& family, const GptConfig& config) {
  Json json{{"architectures", Json::array({family.architecture})}, {"model_type", family.type}};
  GptConfig copy = spelled_out(config);
  family.keys(ConfigKeys(json), copy);
  return json;
}

}  // namespace

const std::vector<const ModelFamily*>& model_families() {
  static const std::vector<const ModelFamily*> all = [] {
    std::vector<const ModelFamily*> families;
    for (const std::span<const ModelFamily> kind :
         {gpt2_families(), gpt_neo_families(), gpt_neox_families(), llama_families(),
          gemma_families(), phi_families(), layer_norm_families(), llama_relatives(),
          opt_families(), olmo_families(), bert_families(), headlight_families()}) {
      for (const ModelFamily& family : kind) {
        families.push_back(&family);
      }
    }
    return families;
  }();
  return all;
}

Refusal refusal_of(const ModelFamily& family, const GptConfig& config) {
  return round_trip_refusal(config, kTolerance, family.type, [&] {
    const Json json = written_keys(family, config);
    GptConfig again = read_keys(family, ConfigReader(json, family.aliases));
    // Weights say whether there is a head: see ModelWeights::infer_missing_fields.
    again.masked_head = again.masked_head && config.masked_head;
    return again;
  });
}

std::string nearest_refusal(const GptConfig& config) {
  std::optional<Refusal> nearest;
  for (const ModelFamily* family : model_families()) {
    if (is_headlight(*family)) {
      continue;
    }
    Refusal refusal = refusal_of(*family, config);
    if (!nearest || refusal.keys < nearest->keys) {
      nearest = std::move(refusal);
    }
  }
  return nearest->text;
}

const ModelFamily& family_of_type(std::string_view type) {
  std::vector<std::string_view> types;
  for (const ModelFamily* family : model_families()) {
    if (family->type == type) {
      return *family;
    }
    types.push_back(family->type);
  }
  types.pop_back();
  fail_value("model_type", "expected ", listed(types), ", got ", in_quotes(std::string(type)));
}

bool is_headlight(const ModelFamily& family) { return &family == model_families().back(); }

const ModelFamily& family_for(const GptConfig& config) {
  const auto found = std::ranges::find_if(model_families(), [&](const ModelFamily* family) {
    return is_headlight(*family) || refusal_of(*family, config).keys == 0;
  });
  return **found;
}

std::string family_config_json(const ModelFamily& family, const GptConfig& config,
                               const Tokenizer& tokenizer, StoredFloats floats) {
  Json json = written_keys(family, config);
  json.update(Json{{"initializer_range", 0.02},
                   {"use_cache", true},
                   {"dtype", name_of(floats)},          // transformers 5
                   {"torch_dtype", name_of(floats)}});  // transformers 4
  json.update(token_id_keys(tokenizer));
  return json.dump(2) + "\n";
}

ModelConfig parse_model_config(std::string_view text, std::string_view name) {
  const Json json = parse_json(text, name);
  return in_place(concat_text(name, ": "), [&] {
    const ModelFamily& family = family_of_type(ConfigReader(json).text("model_type", ""));
    const ConfigReader reader(json, family.aliases);
    ModelConfig result{&family, read_keys(family, reader)};
    require_supported(reader, result.config.causal);
    // count_parameters() throws Error if config.json describes a model too large for any file.
    reader.read_keys().in_file_keys("", [&] { count_parameters(result.config); });
    result.config = result.config.canonical();
    result.unread = unread_keys(json, reader.read_keys());
    return result;
  });
}

}  // namespace headlight
