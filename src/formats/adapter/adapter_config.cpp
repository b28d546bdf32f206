#include "formats/adapter/adapter_config.h"

#include <algorithm>
#include <limits>

#include "base/strings/printable.h"
#include "formats/huggingface/config_reader.h"
#include "formats/token_settings.h"
#include "formats/word_list.h"
#include "headlight/nn/lora.h"
#include "tokenizers/regex/regex.h"

namespace headlight {
namespace {

// Keys without effect on the weights of a finished adapter: origin, storage, training, and the
// choice of the modules, which the names of the tensors give.
constexpr std::string_view kIgnoredAdapterKeys =
    "task_type base_model_name_or_path revision inference_mode auto_mapping "
    "peft_version target_modules exclude_modules lora_dropout fan_in_fan_out "
    "layers_to_transform layers_pattern rank_pattern megatron_config megatron_core modules_to_save "
    "loftq_config eva_config corda_config lora_ga_config qalora_group_size runtime_config";

// Ways to start an adapter that leave the weights of the base model as they are.
constexpr std::string_view kPlainStarts = "gaussian eva orthogonal mica";

constexpr const char* kMerged =
    "write the whole model with PEFT (model.merge_and_unload().save_pretrained(DIR)) and open that";

void require_plain_start(const ConfigReader& reader) {
  constexpr const char* kKey = "init_lora_weights";
  const Json* start = reader.find(kKey);
  const bool is_plain = start == nullptr || start->is_boolean() ||
                        (start->is_string() && has_word(kPlainStarts, start->text()));
  require_value(is_plain, kKey, start == nullptr ? "" : escaped(start->dump()),
                " changes the weights of the base model; convert the adapter with PEFT "
                "(save_pretrained(DIR, path_initial_model_for_weight_conversion=START)), or ",
                kMerged);
}

std::vector<std::pair<std::string, double>> read_alphas(const ConfigReader& reader) {
  constexpr const char* kKey = "alpha_pattern";
  std::vector<std::pair<std::string, double>> alphas;
  if (const Json* patterns = reader.find(kKey); patterns != nullptr) {
    require_value(patterns->is_object(), kKey, "expected an object");
    for (const auto& [pattern, alpha] : patterns->members()) {
      require_value(alpha.is_number(), kKey, "expected a number for ", in_quotes(pattern));
      alphas.emplace_back(pattern, alpha.number());
    }
  }
  return alphas;
}

std::vector<std::int32_t> ids_of(const Json& list, const char* key) {
  require_value(list.is_array(), key, "expected lists of token ids");
  std::vector<std::int32_t> ids;
  for (const Json& id : list) {
    require_value(id.is_integer() && id.integer() >= 0 &&
                      id.integer() <= std::numeric_limits<std::int32_t>::max(),
                  key, "expected token ids, got ", escaped(id.dump()));
    ids.push_back(static_cast<std::int32_t>(id.integer()));
  }
  return ids;
}

std::vector<std::pair<std::string, std::vector<std::int32_t>>> read_tokens(
    const ConfigReader& reader) {
  constexpr const char* kKey = "trainable_token_indices";
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> tokens;
  const Json* value = reader.find(kKey);
  if (value == nullptr) {
    return tokens;
  }
  if (!value->is_object()) {
    tokens.emplace_back("", ids_of(*value, kKey));
    return tokens;
  }
  for (const auto& [module, ids] : value->members()) {
    tokens.emplace_back(module, ids_of(ids, kKey));
  }
  return tokens;
}

// Returns whether PEFT's re.match("(.*\.)?(PATTERN)$", module) finds a match.
bool is_match(const std::string& pattern, const std::string& module) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  if (pattern.find_first_not_of(kPlain) == pattern.npos) {
    return module == pattern || module.ends_with("." + pattern);
  }
  const Regex regex("^(?:.*\\.)?(?:" + pattern + ")$", "alpha_pattern: " + in_quotes(pattern));
  return !regex.matches(module).empty();
}

}  // namespace

double AdapterSettings::alpha_of(const std::string& module) const {
  const auto found = std::ranges::find_if(
      alphas, [&](const auto& entry) { return is_match(entry.first, module); });
  return found == alphas.end() ? alpha : found->second;
}

double AdapterSettings::scale_of(const std::string& module, Index update_rank) const {
  return LoraOptions{.rank = update_rank, .alpha = alpha_of(module), .rslora = rslora}.scale();
}

AdapterSettings read_adapter_settings(const Json& config) {
  const ConfigReader reader(config);
  const std::string type = reader.text("peft_type", "LORA");
  require_value(type == "LORA", "peft_type", "expected LORA, got ", in_quotes(type), "; ", kMerged);
  require_plain_start(reader);
  const std::string bias = reader.text("bias", "none");
  require_value(has_word("none all lora_only", bias), "bias",
                "expected none, all or lora_only, got ", in_quotes(bias));
  AdapterSettings settings{.rank = reader.or_null().size("r", 8),
                           .alpha = reader.number("lora_alpha", 8),
                           .rslora = reader.or_null().boolean("use_rslora", false),
                           .dora = reader.or_null().boolean("use_dora", false),
                           .ties_weights = reader.or_null().boolean("ensure_weight_tying", false),
                           .alphas = read_alphas(reader),
                           .tokens = read_tokens(reader)};
  for (const auto& [key, value] : config.members()) {
    require_value(
        !has_value(value) || has_word(kIgnoredAdapterKeys, key) || reader.read_keys().contains(key),
        escaped(key), "is not supported; ", kMerged);
  }
  return settings;
}

}  // namespace headlight
