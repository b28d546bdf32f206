#include "io/formats/families.h"

#include <algorithm>
#include <array>

#include "base/printable.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::array<const ModelFamily*, 3> kFamilies{&kGpt2, &kGptNeo, &kHeadlight};

}  // namespace

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

const ModelFamily& family_for(const GptConfig& config) {
  const auto found =
      std::find_if(kFamilies.begin(), kFamilies.end(),
                   [&](const ModelFamily* family) { return family->refusal(config).empty(); });
  return **found;
}

std::string family_config_json(const ModelFamily& family, const GptConfig& config,
                               const Tokenizer& tokenizer) {
  Json json = family.config_json(config);
  json.update(Json{{"vocab_size", config.vocab_size},
                   {"initializer_range", 0.02},
                   {"use_cache", true},
                   {"bos_token_id", tokenizer.end_of_text()},
                   {"eos_token_id", tokenizer.end_of_text()},
                   {"tie_word_embeddings", config.tie_weights},
                   {"dtype", "float32"},          // transformers 5
                   {"torch_dtype", "float32"}});  // and before
  return json.dump(2) + "\n";
}

ModelConfig parse_model_config(std::string_view text, std::string_view name) {
  const Json json = parse_json(text, name);
  return in_place(concat_text(name, ": "), [&] {
    const ConfigReader reader(json);
    const ModelFamily& family = family_of_type(reader.text("model_type", ""));
    ModelConfig result{&family, family.read_config(reader)};
    result.config.validate();
    return result;
  });
}

std::vector<StoredTensor> query_key_value_tensors(const Weight& weight, const GptConfig& config,
                                                  const std::vector<std::string>& names) {
  const AttentionPlan plan = block_plan(config, weight.layer).attention;
  std::vector<StoredTensor> parts;
  for (Index part = 0; part < 3; ++part) {
    parts.push_back({.name = names[static_cast<std::size_t>(part)],
                     .rows = plan.part_heads(part) * plan.head_width});
  }
  return parts;
}

}  // namespace headlight
