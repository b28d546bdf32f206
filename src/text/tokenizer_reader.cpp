#include <algorithm>
#include <utility>

#include "headlight/tensor/error.h"
#include "headlight/text/byte_tokenizer.h"
#include "headlight/text/char_tokenizer.h"
#include "headlight/text/tokenizer_file.h"
#include "headlight/text/utf8.h"
#include "text/byte_characters.h"
#include "text/checked_json.h"

namespace headlight {
namespace {

using nlohmann::json;

// The vocabulary and the special tokens of a file, checked: tokens[id], ids 0 ... V - 1 all taken.
struct Vocabulary {
  std::vector<std::string> tokens;  // [V]
  std::vector<std::string> specials;
};

using TokenList = std::vector<std::pair<std::string, std::uint64_t>>;

std::string at(std::string_view name, std::string_view key) { return concat_text(name, ": ", key); }

// True when the key is missing or null.
bool is_null(const json& object, const char* key) {
  return !object.contains(key) || object[key].is_null();
}

// Messages about single tokens are built only on failure: a vocabulary may be long.
std::uint64_t token_id(const json& value, const std::string& token, std::string_view where) {
  if (!value.is_number_unsigned()) {
    fail(where, ": id of ", quoted_text(token), " must be a whole number from 0, got ",
         quoted_text(value.dump()));
  }
  return value.get<std::uint64_t>();
}

// Special tokens may stand in the vocabulary, in added_tokens or in both with one id.
TokenList all_tokens(const json& vocab, const json& added, std::string_view name) {
  const std::string vocab_key = at(name, "model.vocab");
  const std::string added_key = at(name, "added_tokens");
  require(vocab.is_object(), vocab_key, ": expected an object, got ", vocab.type_name());
  require(added.is_array(), added_key, ": expected an array, got ", added.type_name());
  TokenList tokens;
  for (const auto& [token, id] : vocab.items()) {
    tokens.emplace_back(token, token_id(id, token, vocab_key));
  }
  for (const json& entry : added) {
    const std::string token = json_string(entry, "content", added_key);
    const std::uint64_t id = token_id(json_member(entry, "id", added_key), token, added_key);
    require(json_member(entry, "special", added_key) == json(true), added_key, ": ",
            quoted_text(token), " is not special, expected special tokens only");
    const auto same = vocab.find(token);
    if (same == vocab.end()) {
      tokens.emplace_back(token, id);
    } else {
      require(token_id(*same, token, vocab_key) == id, added_key, ": ", quoted_text(token),
              " has id ", id, ", model.vocab says ", same->dump());
    }
  }
  return tokens;
}

Vocabulary read_vocabulary(const json& root, const json& model, std::string_view name) {
  const json& added = json_member(root, "added_tokens", name);
  const json& vocab = json_member(model, "vocab", at(name, "model"));
  const std::string key = at(name, "model.vocab");
  const auto tokens = all_tokens(vocab, added, name);
  Vocabulary result;
  result.tokens.resize(tokens.size());
  std::vector<bool> taken(tokens.size(), false);
  for (const auto& [token, id] : tokens) {
    require(!token.empty(), key, ": a token is empty");
    if (id >= tokens.size()) {
      fail(key, ": id ", id, " of ", quoted_text(token), " is out of range, expected 0 ... ",
           tokens.size() - 1, " without gaps");
    }
    const auto place = static_cast<std::size_t>(id);
    if (taken[place]) {
      fail(key, ": ", quoted_text(token), " and ", quoted_text(result.tokens[place]),
           " have the same id ", id);
    }
    taken[place] = true;
    result.tokens[place] = token;
  }
  for (const json& entry : added) {
    result.specials.push_back(entry["content"].get<std::string>());
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

void require_step(const json& root, const std::string& key, const char* type,
                  std::string_view name) {
  const std::string got = json_string(json_member(root, key, name), "type", at(name, key));
  require(got == type, at(name, key), ": expected type \"", type, "\", got ", quoted_text(got));
}

std::unique_ptr<Tokenizer> char_tokenizer(const json& root, const Vocabulary& vocabulary,
                                          std::string_view name) {
  const json& model = root["model"];
  require(json_string(model, "unk_token", at(name, "model")) == kUnknownName,
          at(name, "model.unk_token"), ": expected \"", kUnknownName, "\"");
  require(model.value("fuse_unk", json(false)) == json(false), at(name, "model.fuse_unk"),
          ": expected false");
  require_step(root, "decoder", "Fuse", name);
  require_specials(vocabulary, {kEndOfTextName, kUnknownName}, name);
  require_token(vocabulary, 0, kEndOfTextName, name);
  require_token(vocabulary, 1, kUnknownName, name);
  std::vector<char32_t> characters;
  for (std::size_t id = 2; id < vocabulary.tokens.size(); ++id) {
    const std::string& token = vocabulary.tokens[id];
    const Utf8Character character = first_character(token);
    if (character.length != static_cast<Index>(token.size())) {
      fail(at(name, "model.vocab"), ": ", quoted_text(token),
           " has more than one character, expected one character per token");
    }
    characters.push_back(character.code_point);
  }
  return std::make_unique<CharTokenizer>(std::move(characters));
}

std::unique_ptr<Tokenizer> byte_tokenizer(const json& root, const Vocabulary& vocabulary,
                                          std::string_view name) {
  require_step(root, "pre_tokenizer", "ByteLevel", name);
  require(root["pre_tokenizer"].value("add_prefix_space", json()) == json(false),
          at(name, "pre_tokenizer.add_prefix_space"), ": expected false");
  require_step(root, "decoder", "ByteLevel", name);
  require_specials(vocabulary, {kEndOfTextName}, name);
  auto tokenizer = std::make_unique<ByteTokenizer>();
  const auto characters = byte_characters();
  for (std::size_t byte = 0; byte < characters.size(); ++byte) {
    std::string token;
    append_utf8(characters[byte], token);
    require_token(vocabulary, byte, token, name);
  }
  require(static_cast<Index>(vocabulary.tokens.size()) == tokenizer->vocab_size(),
          at(name, "model.vocab"), ": expected ", tokenizer->vocab_size(), " tokens, got ",
          vocabulary.tokens.size());
  return tokenizer;
}

// Whether texts begin with <|endoftext|>: the one template that Headlight writes, or none.
bool read_post_processor(const json& root, std::int32_t end_of_text, std::string_view name) {
  if (is_null(root, "post_processor")) {
    return false;
  }
  const std::string key = at(name, "post_processor");
  const json& step = root["post_processor"];
  if (json_string(step, "type", key) == "ByteLevel") {
    return false;  // moves offsets only
  }
  require_step(root, "post_processor", "TemplateProcessing", name);
  const json& single = json_member(step, "single", key);
  const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  if (single == json::array({text})) {
    return false;  // transformers 5 writes this for none
  }
  const json expected = {{{"SpecialToken", {{"id", kEndOfTextName}, {"type_id", 0}}}}, text};
  require(single == expected, key, ": expected the template ", kEndOfTextName, " $A");
  const json& special = json_member(step, "special_tokens", key);
  const json& ids = json_member(json_member(special, std::string(kEndOfTextName), key), "ids", key);
  require(ids == json::array({end_of_text}), key, ".special_tokens: expected ids [", end_of_text,
          "] for ", kEndOfTextName);
  return true;
}

void require_plain_model(const json& model, std::string_view name) {
  const std::string type = json_string(model, "type", at(name, "model"));
  require(type == "BPE", at(name, "model.type"), ": expected \"BPE\", got ", quoted_text(type));
  const json& merges = json_member(model, "merges", at(name, "model"));
  require(merges.is_array(), at(name, "model.merges"), ": expected an array, got ",
          merges.type_name());
  require(merges.empty(), at(name, "model.merges"), ": byte-pair merges are not supported");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const bool none = is_null(model, key) || model[key] == "";
    require(none, at(name, "model."), key, ": prefixes and suffixes of tokens are not supported");
  }
}

}  // namespace

std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view text, std::string_view name) {
  const json root = parse_json(text, name);
  const json& model = json_member(root, "model", name);
  require_plain_model(model, name);
  require(is_null(root, "normalizer"), at(name, "normalizer"), ": expected null");
  const Vocabulary vocabulary = read_vocabulary(root, model, name);
  auto tokenizer = is_null(root, "pre_tokenizer") ? char_tokenizer(root, vocabulary, name)
                                                  : byte_tokenizer(root, vocabulary, name);
  tokenizer->set_prepends_end_of_text(read_post_processor(root, tokenizer->end_of_text(), name));
  return tokenizer;
}

}  // namespace headlight
