#include "formats/token_settings.h"

#include <algorithm>
#include <string_view>

#include "base/strings/printable.h"
#include "base/strings/read_number.h"
#include "formats/side_tokens.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "formats/word_list.h"
#include "headlight/base/error.h"
#include "headlight/formats/gguf/gguf.h"
#include "storage/input_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestSettings = Index{1} << 28;  // bytes
constexpr Index kMostIds = Index{1} << 24;

// Keys of tokenizer_config.json that are kept, stored in tokenizer.json, or without effect.
constexpr std::string_view kKeptOfTokenizer =
    "bos_token eos_token chat_template model_max_length tokenizer_class added_tokens_decoder "
    "additional_special_tokens extra_special_tokens add_bos_token add_eos_token add_prefix_space "
    "split_special_tokens name_or_path "
    "tokenizer_file special_tokens_map_file use_fast backend is_local legacy errors "
    "sp_model_kwargs processor_class";
constexpr std::string_view kKeptOfMap = "bos_token eos_token additional_special_tokens";
constexpr std::string_view kKeptOfGeneration =
    "bos_token_id eos_token_id transformers_version _from_model_config";

// Reads a JSON file of the folder; null if it is missing. Throws Error if it is not JSON.
Json json_in(const fs::path& folder, const char* file) {
  const fs::path path = folder / file;
  return fs::is_regular_file(path)
             ? parse_json(read_whole_file(path, kLargestSettings), shown(path))
             : Json();
}

// Returns the name of a token, which is a text or an object with its "content"; "" for others.
std::string name_of(const Json* token) {
  if (token != nullptr && token->is_object()) {
    token = token->find("content");
  }
  return token != nullptr && token->is_string() ? token->text() : "";
}

// Returns "FILE: KEY, KEY" for the keys that are not kept; "" if all are kept.
std::string rest_of(const Json& file, const char* name, std::string_view kept,
                    std::string_view padding) {
  std::string keys;
  const Json::Object none;
  for (const auto& [key, value] : file.is_object() ? file.members() : none) {
    const bool is_padding =
        key == "pad_token_id" || (key == "pad_token" && name_of(&value) == padding);
    const bool is_kept = has_word(kept, key) || (is_padding && !padding.empty());
    if (!is_kept && has_value(value)) {
      keys += (keys.empty() ? "" : ", ") + escaped(key);
    }
  }
  return keys.empty() ? "" : concat_text(name, ": ", keys);
}

// Returns the chat templates: a text, or those in a list of {"name", "template"}.
ChatTemplates templates_in(const Json& config) {
  const Json value = config.value("chat_template", Json());
  ChatTemplates templates(value.is_string() ? value.text() : "");
  for (const Json& one : value.is_array() ? value.list() : Json::List()) {
    const Json name = one.value("name", Json());
    const Json text = one.value("template", Json());
    if (name.is_string() && text.is_string()) {
      templates.set(name.text(), text.text());
    }
  }
  return templates;
}

// Returns the chat templates in files of their own: chat_template.jinja and
// additional_chat_templates/NAME.jinja.
ChatTemplates templates_beside(const fs::path& folder) {
  ChatTemplates templates;
  const auto add = [&](const std::string& name, const fs::path& file) {
    if (fs::is_regular_file(file)) {
      templates.set(name, read_whole_file(file, kLargestSettings));
    }
  };
  add(ChatTemplates::kDefault, folder / "chat_template.jinja");
  if (fs::is_directory(folder / "additional_chat_templates")) {
    for (const auto& entry : fs::directory_iterator(folder / "additional_chat_templates")) {
      if (entry.path().extension() == ".jinja") {
        add(entry.path().stem().string(), entry.path());
      }
    }
  }
  return templates;
}

bool has_value(const GgufValue& value) {
  const auto* flag = std::get_if<bool>(&value);
  const auto* text = std::get_if<std::string>(&value);
  return (flag == nullptr || *flag) && (text == nullptr || !text->empty());
}

// Keys of a GGUF file that the tokenizer uses.
constexpr std::string_view kUsedOfGguf =
    "tokenizer.ggml.model tokenizer.ggml.pre tokenizer.ggml.tokens tokenizer.ggml.token_type "
    "tokenizer.ggml.scores tokenizer.ggml.merges tokenizer.ggml.bos_token_id "
    "tokenizer.ggml.eos_token_id tokenizer.ggml.eot_token_id tokenizer.ggml.eom_token_id "
    "tokenizer.ggml.padding_token_id tokenizer.ggml.unknown_token_id "
    "tokenizer.ggml.add_bos_token tokenizer.ggml.add_eos_token tokenizer.ggml.add_space_prefix "
    "tokenizer.chat_template "
    "tokenizer.huggingface.json";

// Returns "FILE: KEY, KEY" for the keys of a GGUF file that a folder lacks; "" if there are none.
std::string rest_of_gguf(const fs::path& path) {
  std::string keys;
  const GgufFile file(path);
  for (const auto& [key, value] : file.metadata()) {
    const bool is_rest =
        key.starts_with("tokenizer.")
            ? !has_word(kUsedOfGguf, key) && !key.starts_with("tokenizer.chat_template")
            : describes_model(key) && key != "general.name" && key != "general.type";
    if (is_rest && has_value(value)) {
      keys += (keys.empty() ? "" : ", ") + escaped(key);
    }
  }
  return keys.empty() ? "" : concat_text(path.filename().string(), ": ", keys);
}

}  // namespace

bool has_value(const Json& value) {
  const bool is_list = value.is_array() || value.is_object();
  return !value.is_null() && value != Json(false) && value != Json("") &&
         !(is_list && value.empty());
}

bool describes_model(std::string_view gguf_key) {
  constexpr std::string_view kOfFile =
      "general.architecture general.file_type general.quantization_version general.alignment";
  return gguf_key.starts_with("general.") && !has_word(kOfFile, gguf_key);
}

std::string dropped_settings(const fs::path& model, const Tokenizer& tokenizer) {
  const std::vector<std::string> files = is_gguf_file(model)
                                             ? std::vector<std::string>{rest_of_gguf(model)}
                                             : TokenSettings(model).dropped(tokenizer);
  std::string all;
  for (const std::string& file : files) {
    all += (all.empty() || file.empty() ? "" : "; ") + file;
  }
  return all.empty() ? "" : "not kept: " + all;
}

TokenSettings::TokenSettings(const fs::path& folder)
    : folder_(folder),
      tokenizer_config_(json_in(folder, "tokenizer_config.json")),
      special_tokens_map_(json_in(folder, "special_tokens_map.json")),
      generation_config_(json_in(folder, "generation_config.json")),
      config_(json_in(folder, "config.json")) {}

std::string TokenSettings::name(const std::string& key) const {
  const bool has_own_tokens = !tokenizer_config_.value("added_tokens_decoder", Json()).is_null();
  const std::string token = has_own_tokens ? "" : name_of(special_tokens_map_.find(key));
  return token.empty() ? name_of(tokenizer_config_.find(key)) : token;
}

bool TokenSettings::complete(const std::string& where, Json& root) const {
  const SideFiles files{.tokenizer_config = tokenizer_config_,
                        .special_tokens_map = special_tokens_map_,
                        .added_tokens = json_in(folder_, "added_tokens.json"),
                        .config = config_};
  return apply_side_files(files, where, root);
}

Json TokenSettings::text_ends(const std::string& where, const Json& added) const {
  const auto id_of = [&](const char* key) -> std::optional<NamedId> {
    for (const Json& entry : added) {
      if (entry["content"] == Json(name(key))) {
        return NamedId{name(key), static_cast<std::int32_t>(entry["id"].integer())};
      }
    }
    return std::nullopt;
  };
  const auto first = flag("add_bos_token").value_or(false) ? id_of("bos_token") : std::nullopt;
  const auto last = flag("add_eos_token").value_or(false) ? id_of("eos_token") : std::nullopt;
  require(first || !last, where,
          ": tokenizer_config.json: add_eos_token is supported only with add_bos_token");
  return first ? template_json(*first, last) : Json();
}

std::vector<std::int32_t> TokenSettings::ids(const std::string& key,
                                             const Tokenizer& tokenizer) const {
  const Json* value = generation_config_.find(key);
  if (value == nullptr || value->is_null()) {
    value = config_.find(key);
  }
  std::vector<std::int32_t> result;
  const Json none = Json::array();
  const Json list = value == nullptr ? none : value->is_array() ? *value : Json::array({*value});
  for (const Json& id : list) {
    if (id.is_natural() && id.natural() < static_cast<std::uint64_t>(tokenizer.vocab_size())) {
      result.push_back(static_cast<std::int32_t>(id.natural()));
    }
  }
  return result;
}

std::optional<std::int32_t> TokenSettings::special(const std::string& role,
                                                   const Tokenizer& tokenizer) const {
  if (const auto id = tokenizer.special_id(name(role + "_token"))) {
    return id;
  }
  const std::vector<std::int32_t> all = ids(role + "_token_id", tokenizer);
  const auto found = std::find_if(
      all.begin(), all.end(), [&](std::int32_t id) { return !tokenizer.special_name(id).empty(); });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

void TokenSettings::apply(Tokenizer& tokenizer) const {
  tokenizer.suggest_stop_tokens(special("eos", tokenizer), ids("eos_token_id", tokenizer));
  tokenizer.suggest_begin_of_text(special("bos", tokenizer));
  tokenizer.set_padding(special("pad", tokenizer));
  if (const auto mask = special("mask", tokenizer)) {
    tokenizer.set_mask_token(mask);
  }
  const ChatTemplates templates = templates_beside(folder_);
  tokenizer.set_chat_template(templates.empty() ? templates_in(tokenizer_config_) : templates);
}

Json TokenSettings::added_tokens() const {
  Json result = Json::array();
  const auto add = [&](const std::optional<Index> id, const Json& token, bool special) {
    const std::string name = name_of(&token);
    if (id && *id >= 0 && *id < kMostIds && !name.empty()) {
      Json entry = added_token_json(static_cast<std::int32_t>(*id), name, special);
      for (const char* key : {"single_word", "lstrip", "rstrip", "special"}) {
        const Json flag = token.is_object() ? token.value(key, Json()) : Json();
        entry[key] = flag.is_boolean() ? flag : entry[key];
      }
      result.push_back(std::move(entry));
    }
  };
  const Json decoder = tokenizer_config_.value("added_tokens_decoder", Json());
  const Json::Object none;
  for (const auto& [id, token] : decoder.is_object() ? decoder.members() : none) {
    add(read_number<Index>(id), token, false);
  }
  const Json old = json_in(folder_, "added_tokens.json");
  for (const auto& [name, id] : old.is_object() && result.empty() ? old.members() : none) {
    add(id.is_integer() ? std::optional(id.integer()) : std::nullopt, Json(name), true);
  }
  return result;
}

std::optional<bool> TokenSettings::flag(const std::string& key) const {
  const Json value = tokenizer_config_.value(key, Json());
  return value.is_boolean() ? std::optional(value.boolean()) : std::nullopt;
}

std::vector<std::string> TokenSettings::dropped(const Tokenizer& tokenizer) const {
  const std::string_view padding = tokenizer.special_name(tokenizer.padding().value_or(-1));
  std::vector<std::string> result{
      rest_of(generation_config_, "generation_config.json", kKeptOfGeneration, padding),
      rest_of(tokenizer_config_, "tokenizer_config.json", kKeptOfTokenizer, padding),
      rest_of(special_tokens_map_, "special_tokens_map.json", kKeptOfMap, padding)};
  std::erase(result, "");
  return result;
}

Json token_id_keys(const Tokenizer& tokenizer) {
  const std::vector<std::int32_t>& ends = tokenizer.stop_tokens();
  Json keys = Json::object();
  if (const std::optional<std::int32_t> begin = tokenizer.begin_token()) {
    keys["bos_token_id"] = *begin;
  }
  if (!ends.empty()) {
    keys["eos_token_id"] = ends.size() == 1 ? Json(ends.front()) : Json(ends);
  }
  if (tokenizer.padding()) {
    keys["pad_token_id"] = *tokenizer.padding();
  }
  return keys;
}

}  // namespace headlight
