#include "formats/families/families.h"

#include <algorithm>
#include <array>

#include "base/strings/printable.h"
#include "formats/huggingface/rope_config.h"
#include "formats/token_settings.h"
#include "formats/word_list.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::array kFamilies{
    &kGpt2,    &kGptNeo, &kGptNeoX,  &kLlama,      &kMistral,  &kQwen2, &kQwen3,
    &kGemma3,  &kPhi3,   &kStableLm, &kStarcoder2, &kPhi,      &kGemma, &kGranite,
    &kSmolLm3, &kArcee,  &kErnie,    &kHelium,     &kSeedOss,  &kOpt,   &kOlmo,
    &kOlmo2,   &kOlmo3,  &kExaone4,  &kGemma2,     &kNanochat, &kBert,  &kHeadlight};

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

// Returns the family of a model_type. Throws Error if it is unknown.
const ModelFamily& family_of_type(std::string_view type) {
  std::vector<std::string_view> types;
  for (const ModelFamily* family : kFamilies) {
    if (family->type == type) {
      return *family;
    }
    types.push_back(family->type);
  }
  types.pop_back();
  fail_value("model_type", "expected ", listed(types), ", got ", in_quotes(std::string(type)));
}

}  // namespace

const ModelFamily& family_for(const GptConfig& config) {
  const auto found =
      std::find_if(kFamilies.begin(), kFamilies.end(), [&](const ModelFamily* family) {
        return family == &kHeadlight ||
               (family->causal == config.causal && family->refusal(config).empty());
      });
  return **found;
}

std::string family_config_json(const ModelFamily& family, const GptConfig& config,
                               const Tokenizer& tokenizer, StoredFloats floats) {
  Json json = family.config_json(config);
  json.update(Json{{"vocab_size", config.vocab_size},
                   {"initializer_range", 0.02},
                   {"use_cache", true},
                   {"tie_word_embeddings", config.tie_weights},
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
    require_supported(reader, family.causal);
    ModelConfig result{&family, family.read_config(reader)};
    // count_parameters() throws Error if config.json describes a model too large for any file.
    reader.read_keys().in_file_keys("", [&] { count_parameters(result.config); });
    result.config = result.config.canonical();
    result.unread = unread_keys(json, reader.read_keys());
    return result;
  });
}

Index read_window(const ConfigReader& reader, Index fallback) {
  constexpr const char* kKey = "sliding_window";
  return reader.is_null(kKey) ? 0 : reader.size(kKey, fallback);
}

std::vector<Index> layer_windows(const ConfigReader& reader, const std::vector<bool>& sliding,
                                 Index window) {
  constexpr const char* kKey = "layer_types";
  const Json::List types = reader.list(kKey, &Json::is_string, "texts");
  const bool has_types = reader.find(kKey) != nullptr;
  require_value(!has_types || types.size() == sliding.size(), kKey, "expected ", sliding.size(),
                " texts, got ", types.size());
  std::vector<Index> windows;
  for (std::size_t layer = 0; layer < sliding.size(); ++layer) {
    bool is_sliding = sliding[layer];
    if (has_types) {
      const std::string& type = types[layer].text();
      is_sliding = type == kSlidingAttention;
      require_value((is_sliding && window > 0) || type == kFullAttention, kKey, "expected ",
                    kFullAttention,
                    window > 0 ? " or sliding_attention" : ", as there is no window", ", got ",
                    in_quotes(type));
    }
    windows.push_back(is_sliding ? window : 0);
  }
  return windows;
}

Json layer_types_json(const GptConfig& config) {
  Json types;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    types.push_back(block_plan(config, layer).attention.window > 0 ? kSlidingAttention
                                                                   : kFullAttention);
  }
  return types;
}

Index common_window(const GptConfig& config) {
  const std::vector<Index>& windows = config.windows;
  const Index widest = windows.empty() ? 0 : *std::max_element(windows.begin(), windows.end());
  const bool is_common = std::all_of(windows.begin(), windows.end(),
                                     [&](Index window) { return window == 0 || window == widest; });
  return is_common ? widest : 0;
}

std::vector<StoredTensor> named_tensors(const Weight& weight, const GptConfig& config,
                                        std::string_view layers,
                                        std::span<const Choice<Part>> names) {
  const auto found = std::ranges::find(names, weight.part, &Choice<Part>::value);
  if (found == names.end()) {
    return {{.name = weight.name, .rows = weight.shape[0]}};
  }
  const std::string layer = weight.layer == kNoLayer ? "" : concat_text(layers, weight.layer, ".");
  std::vector<StoredTensor> tensors;
  for (const std::string_view name : words_of(found->name)) {
    tensors.push_back({.name = concat_text(layer, name, weight.is_bias ? ".bias" : ".weight"),
                       .rows = weight.shape[0]});
  }
  for (std::size_t part = 0; tensors.size() == 3 && part < 3; ++part) {
    const AttentionPlan plan = block_plan(config, weight.layer).attention;
    tensors[part].rows = plan.part_heads(static_cast<Index>(part)) * plan.head_width;
  }
  return tensors;
}

std::string refusal_of_rare_parts(const GptConfig& config) {
  return first_refusal({{config.attention_cap > 0, "attention_cap cannot be expressed"},
                        {config.logit_cap > 0, "logit_cap cannot be expressed"},
                        {config.qkv_clip > 0, "qkv_clip cannot be expressed"},
                        {!config.norm_weights, "norms without weights cannot be expressed"},
                        {config.embedding_norm, "embedding_norm cannot be expressed"},
                        {config.qk_norm_whole || config.qk_norm_last,
                         "qk_norm_whole and qk_norm_last cannot be expressed"},
                        {config.rope.reversed, "rotations by negative angles cannot be expressed"},
                        {config.rope.scaling == RopeScaling::longrope,
                         "rope_scaling = longrope cannot be expressed"}});
}

bool has_plain_head(const GptConfig& config) {
  return !config.head_bias && config.logit_scale == 0;
}

std::string first_refusal(const std::vector<Refusal>& refusals) {
  const auto found = std::ranges::find_if(
      refusals, [](const Refusal& refusal) { return refusal.holds && !refusal.text.empty(); });
  return found == refusals.end() ? "" : found->text;
}

}  // namespace headlight
