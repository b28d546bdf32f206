#include "formats/tokenizer_class.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "formats/tokenizers/piece_table.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "formats/word_list.h"

namespace headlight {
namespace {

constexpr std::string_view kLlamaClass = "LlamaTokenizer";
constexpr std::string_view kBertClass = "BertTokenizer";
constexpr std::array kTokenizerClasses{
    TokenizerClass{"GPT2Tokenizer", "gpt2 gpt_neo opt phi starcoder2",
                   "bos_token eos_token unk_token", "<|endoftext|>"},
    TokenizerClass{"GPTNeoXTokenizer", "gpt_neox olmo", "bos_token eos_token unk_token",
                   "<|endoftext|>", true},
    TokenizerClass{"Qwen2Tokenizer", "qwen3", "eos_token unk_token pad_token", "<|endoftext|>"},
    TokenizerClass{kLlamaClass, "", "", ""},
    TokenizerClass{kBertClass, "bert", "", ""},
};
// Model types whose tokenizers are read as they are, whatever the class.
constexpr std::string_view kReadAsTheyAre = "olmo2 olmo3 granite stablelm phi3 mistral ernie4_5";

std::string name_under(const Json& file, std::string_view key) {
  const Json* value = file.find(key);
  return value != nullptr && value->is_string() ? value->text() : "";
}

// Returns the steps of a stage, which may be a sequence.
Json::List steps_in(const Json& stage, const char* list) {
  const Json steps = is_step(stage, "Sequence") ? stage.value(list, Json()) : Json::array({stage});
  return steps.is_array() ? steps.list() : Json::List();
}

bool has_byte_level(const Json& root) {
  return std::ranges::any_of(steps_in(root.value("pre_tokenizer", Json()), "pretokenizers"),
                             [](const Json& step) { return is_step(step, "ByteLevel"); });
}

// Sets add_prefix_space of the step ByteLevel.
bool set_byte_level_prefix(bool prefix, Json& root) {
  Json::List steps = steps_in(root["pre_tokenizer"], "pretokenizers");
  bool changed = false;
  for (Json& step : steps) {
    if (is_step(step, "ByteLevel") && step.value("add_prefix_space", Json(true)) != Json(prefix)) {
      step["add_prefix_space"] = prefix;
      changed = true;
    }
  }
  if (changed) {
    root["pre_tokenizer"] =
        steps.size() == 1 ? steps.front() : sequence_json("pretokenizers", Json(steps));
  }
  return changed;
}

// Gives a SentencePiece model the stages of LlamaTokenizer if it begins texts in another way.
bool set_mark_prefix(bool prefix, bool legacy, Json& root) {
  bool has_prefix = false;
  for (const Json& step : steps_in(root.value("normalizer", Json()), "normalizers")) {
    has_prefix = has_prefix || is_step(step, "Prepend");
  }
  for (const Json& step : steps_in(root.value("pre_tokenizer", Json()), "pretokenizers")) {
    has_prefix = has_prefix || (is_step(step, "Metaspace") &&
                                step.value("prepend_scheme", Json("always")) != Json("never"));
  }
  if (has_prefix == prefix) {
    return false;
  }
  root["normalizer"] = nullptr;
  root["pre_tokenizer"] = {{"type", "Metaspace"},
                           {"replacement", kMark},
                           {"prepend_scheme", !prefix  ? "never"
                                              : legacy ? "always"
                                                       : "first"},
                           {"split", false}};
  root["decoder"] = mark_decoder_json(prefix);
  return true;
}

// Applies add_prefix_space, which these classes have false or, for Llama, true if it is missing.
bool set_prefix(const TokenizerClass& one, const Json& config, Json& root) {
  const Json given = config.value("add_prefix_space", Json());
  if (one.name != kLlamaClass) {
    return has_byte_level(root) && set_byte_level_prefix(given == Json(true), root);
  }
  return given.is_boolean() &&
         set_mark_prefix(given.boolean(), config.value("legacy", Json()) == Json(true), root);
}

// Sets the flags of BertNormalizer that the settings give.
bool set_bert_flags(const Json& config, Json& root) {
  bool changed = false;
  for (const auto& [setting, flag] :
       {std::pair("do_lower_case", "lowercase"), std::pair("strip_accents", "strip_accents"),
        std::pair("tokenize_chinese_chars", "handle_chinese_chars")}) {
    const Json given = config.value(setting, Json());
    if (given.is_boolean() && is_step(root.value("normalizer", Json()), "BertNormalizer") &&
        root["normalizer"].value(flag, Json()) != given) {
      root["normalizer"][flag] = given;
      changed = true;
    }
  }
  return changed;
}

}  // namespace

const TokenizerClass* tokenizer_class_of(const Json& tokenizer_config, const Json& config,
                                         const Json& root) {
  std::string name = name_under(tokenizer_config, "tokenizer_class");
  name = name.empty() ? name_under(config, "tokenizer_class") : name;
  name = name.ends_with("Fast") ? name.substr(0, name.size() - 4) : name;
  const std::string type = name_under(config, "model_type");
  const auto found = std::ranges::find_if(kTokenizerClasses, [&](const TokenizerClass& one) {
    return name.empty() ? has_word(one.model_types, type) : one.name == name;
  });
  const bool is_read = found == kTokenizerClasses.end() || has_word(kReadAsTheyAre, type) ||
                       (found->name == kLlamaClass && has_byte_level(root));
  return is_read ? nullptr : &*found;
}

bool set_class_stages(const TokenizerClass& one, const Json& tokenizer_config, Json& root) {
  const bool changed = one.name == kBertClass ? set_bert_flags(tokenizer_config, root)
                                              : set_prefix(one, tokenizer_config, root);
  if (!one.drops_template || !is_step(root.value("post_processor", Json()), "TemplateProcessing")) {
    return changed;
  }
  root["post_processor"] = nullptr;
  return true;
}

}  // namespace headlight
