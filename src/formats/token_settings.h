#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Settings files beside a tokenizer.json, which define the tokens that begin, end and pad texts.
// tokenizer_config.json and special_tokens_map.json hold names; generation_config.json and
// config.json hold ids. special_tokens_map.json counts only without added_tokens_decoder, as in
// transformers 5.
class TokenSettings {
 public:
  explicit TokenSettings(const std::filesystem::path& folder);

  // Returns the token name under a key, for example "eos_token"; "" if there is none.
  std::string name(const std::string& key) const;
  // Adds the tokens of these files to a tokenizer.json; see apply_side_files().
  bool complete(const std::string& where, Json& root) const;
  // Returns the post-processor of GPT-2's files by add_bos_token and add_eos_token: null, or the
  // tokens around a text. `added` are the added tokens. Throws Error that begins with `where` for
  // add_eos_token alone.
  Json text_ends(const std::string& where, const Json& added) const;
  // Sets the end, begin and padding tokens of the folder's tokenizer, and the chat templates of
  // chat_template.jinja and additional_chat_templates, else of tokenizer_config.json. A begin token
  // from tokenizer.json stays. Ids without a token are ignored.
  void apply(Tokenizer& tokenizer) const;
  // Returns the tokens of tokenizer_config.json (added_tokens_decoder) and added_tokens.json, as
  // entries of added_tokens in a tokenizer.json.
  Json added_tokens() const;
  // Returns a key of tokenizer_config.json that is true or false; nothing for other values.
  std::optional<bool> flag(const std::string& key) const;
  // Returns "FILE: KEY, KEY" for each file with settings that a model written by Headlight lacks.
  std::vector<std::string> dropped(const Tokenizer& tokenizer) const;

 private:
  // Returns the ids under a key: a single id or a list.
  std::vector<std::int32_t> ids(const std::string& key, const Tokenizer& tokenizer) const;
  // Returns the token under "ROLE_token", else under "ROLE_token_id".
  std::optional<std::int32_t> special(const std::string& role, const Tokenizer& tokenizer) const;

  std::filesystem::path folder_;
  Json tokenizer_config_;
  Json special_tokens_map_;
  Json generation_config_;
  Json config_;
};

// False for null, false, and an empty text, list or object.
bool has_value(const Json& value);

// True for a key like general.license, which describes the model; false for general.file_type.
bool describes_model(std::string_view gguf_key);

// Returns one line about settings of a model's folder or GGUF file that a folder written by
// Headlight lacks: "not kept: FILE: KEY, KEY; FILE: KEY"; "" if it keeps all.
std::string dropped_settings(const std::filesystem::path& model, const Tokenizer& tokenizer);

// Returns the keys bos_token_id, eos_token_id and pad_token_id for config.json and
// generation_config.json. eos_token_id is a list if there are several end tokens.
Json token_id_keys(const Tokenizer& tokenizer);

}  // namespace headlight
