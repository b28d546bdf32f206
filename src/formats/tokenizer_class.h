#pragma once

#include <string_view>

#include "base/json.h"

namespace headlight {

// A tokenizer class of transformers that builds its stages instead of reading them.
struct TokenizerClass {
  std::string_view name;
  std::string_view model_types;  // model types that have it without a tokenizer_class
  std::string_view roles;        // roles of the default token
  std::string_view token;        // added if it is in the vocabulary
  bool drops_template = false;   // texts begin and end with no special token
};

// Returns the class that AutoTokenizer chooses for a tokenizer.json, `root`, beside a
// tokenizer_config.json and config.json; null for classes that read tokenizer.json as it is.
const TokenizerClass* tokenizer_class_of(const Json& tokenizer_config, const Json& config,
                                         const Json& root);

// Changes the stages of a tokenizer.json that a setting of tokenizer_config.json changes in this
// class. Returns true if anything changes. All other stages stay as the file has them.
bool set_class_stages(const TokenizerClass& one, const Json& tokenizer_config, Json& root);

}  // namespace headlight
