#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace headlight {

// Parts of the readers of a tokenizer.json. `name` begins every message.

// The vocabulary and the special tokens of a file, checked: tokens[id], ids 0 ... V - 1 all taken.
struct Vocabulary {
  std::vector<std::string> tokens;  // [V]
  std::vector<std::string> specials;
};

// "NAME: KEY", where a message says that something is wrong.
std::string at(std::string_view name, std::string_view key);

// True when the key is missing or null.
bool is_null(const Json& object, const char* key);

// The tokens of an object `vocab` and of a list `added`, which messages call by the keys. Throws
// Error when ids are not 0 ... V - 1, each once, or an added token is not special.
Vocabulary read_vocabulary(const Json& vocab, const Json& added, std::string_view vocab_key,
                           std::string_view added_key);

// Throws Error unless the special tokens are the expected ones.
void require_specials(const Vocabulary& vocabulary, const std::vector<std::string_view>& expected,
                      std::string_view name);

// Throws Error unless the token has this id.
void require_token(const Vocabulary& vocabulary, std::size_t id, std::string_view token,
                   std::string_view name);

// Throws Error unless root[key] is a step of this type.
void require_step(const Json& root, const std::string& key, const char* type,
                  std::string_view name);

}  // namespace headlight
