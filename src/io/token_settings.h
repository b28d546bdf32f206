#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// The small files beside a tokenizer.json: they say which of its tokens begin, end and pad texts.
// tokenizer_config.json and special_tokens_map.json name them, generation_config.json and
// config.json have ids. The first file that says anything counts.
class TokenSettings {
 public:
  explicit TokenSettings(const std::filesystem::path& folder);

  // The name under a key such as "eos_token"; "" where there is none.
  std::string name(const std::string& key) const;
  // Gives the tokenizer of the folder its ends, its begin and its padding. What texts begin with by
  // the tokenizer.json stays, and ids that are no tokens are left out.
  void apply(Tokenizer& tokenizer) const;
  // "FILE: KEY, KEY" for each file with settings that a model written by Headlight lacks.
  std::vector<std::string> dropped(const Tokenizer& tokenizer) const;

 private:
  // Those under a key that has one or a list.
  std::vector<std::int32_t> ids(const std::string& key, const Tokenizer& tokenizer) const;
  // By "ROLE_token" or "ROLE_token_id".
  std::optional<std::int32_t> special(const std::string& role, const Tokenizer& tokenizer) const;

  Json tokenizer_config_;
  Json special_tokens_map_;
  Json generation_config_;
  Json config_;
};

// False for null, false, and a text, list or object without parts.
bool says_something(const Json& value);

// True for a key of a GGUF file under general. that describes the model, not the file: a license,
// but not the type of its numbers.
bool describes_model(std::string_view gguf_key);

// One line about settings of a model's folder or GGUF file that a folder written by Headlight
// lacks: "not kept: FILE: KEY, KEY; FILE: KEY"; "" where all are kept.
std::string dropped_settings(const std::filesystem::path& model, const Tokenizer& tokenizer);

// The keys bos_token_id, eos_token_id and pad_token_id of config.json and generation_config.json. A
// tokenizer with several ends has a list of them.
Json token_id_keys(const Tokenizer& tokenizer);

}  // namespace headlight
