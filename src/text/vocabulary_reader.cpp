#include "text/vocabulary_reader.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

using TokenList = std::vector<std::pair<std::string, std::uint64_t>>;

// Messages about single tokens are built only on failure: a vocabulary may be long.
std::uint64_t token_id(const Json& value, const std::string& token, std::string_view where) {
  if (!value.is_natural()) {
    fail(where, ": id of ", quoted_text(token), " must be a whole number from 0, got ",
         quoted_text(value.dump()));
  }
  return value.natural();
}

// Special tokens may stand in the vocabulary, in added_tokens or in both with one id.
TokenList all_tokens(const Json& vocab, const Json& added, std::string_view vocab_key,
                     std::string_view added_key) {
  require(vocab.is_object(), vocab_key, ": expected an object, got ", vocab.type_name());
  require(added.is_array(), added_key, ": expected an array, got ", added.type_name());
  TokenList tokens;
  for (const auto& [token, id] : vocab.members()) {
    tokens.emplace_back(token, token_id(id, token, vocab_key));
  }
  for (const Json& entry : added) {
    const std::string token = json_string(entry, "content", added_key);
    const std::uint64_t id = token_id(json_member(entry, "id", added_key), token, added_key);
    require(json_member(entry, "special", added_key) == Json(true), added_key, ": ",
            quoted_text(token), " is not special, expected special tokens only");
    const Json* same = vocab.find(token);
    if (same == nullptr) {
      tokens.emplace_back(token, id);
    } else {
      require(token_id(*same, token, vocab_key) == id, added_key, ": ", quoted_text(token),
              " has id ", id, ", model.vocab says ", same->dump());
    }
  }
  return tokens;
}

}  // namespace

std::string at(std::string_view name, std::string_view key) { return concat_text(name, ": ", key); }

bool is_null(const Json& object, const char* key) {
  return !object.contains(key) || object[key].is_null();
}

Vocabulary read_vocabulary(const Json& vocab, const Json& added, std::string_view vocab_key,
                           std::string_view added_key) {
  const auto tokens = all_tokens(vocab, added, vocab_key, added_key);
  Vocabulary result;
  result.tokens.resize(tokens.size());
  std::vector<bool> taken(tokens.size(), false);
  for (const auto& [token, id] : tokens) {
    require(!token.empty(), vocab_key, ": a token is empty");
    if (id >= tokens.size()) {
      fail(vocab_key, ": id ", id, " of ", quoted_text(token), " is out of range, expected 0 ... ",
           tokens.size() - 1, " without gaps");
    }
    const auto place = static_cast<std::size_t>(id);
    if (taken[place]) {
      fail(vocab_key, ": ", quoted_text(token), " and ", quoted_text(result.tokens[place]),
           " have the same id ", id);
    }
    taken[place] = true;
    result.tokens[place] = token;
  }
  for (const Json& entry : added) {
    result.specials.push_back(entry["content"].text());
  }
  return result;
}

void require_specials(const Vocabulary& vocabulary, const std::vector<std::string_view>& expected,
                      std::string_view name) {
  const auto& found = vocabulary.specials;
  for (const std::string_view special : expected) {
    require(std::find(found.begin(), found.end(), special) != found.end(), at(name, "added_tokens"),
            ": ", quoted_text(special), " is missing");
  }
  for (const std::string& special : found) {
    if (std::find(expected.begin(), expected.end(), special) == expected.end()) {
      fail(at(name, "added_tokens"), ": special token ", quoted_text(special), " is not supported");
    }
  }
}

void require_token(const Vocabulary& vocabulary, std::size_t id, std::string_view token,
                   std::string_view name) {
  require(id < vocabulary.tokens.size(), at(name, "model.vocab"), ": id ", id, " is missing");
  require(vocabulary.tokens[id] == token, at(name, "model.vocab"), ": id ", id, " must be ",
          quoted_text(token), ", got ", quoted_text(vocabulary.tokens[id]));
}

void require_step(const Json& root, const std::string& key, const char* type,
                  std::string_view name) {
  const std::string got = json_string(json_member(root, key, name), "type", at(name, key));
  require(got == type, at(name, key), ": expected type \"", type, "\", got ", quoted_text(got));
}

}  // namespace headlight
