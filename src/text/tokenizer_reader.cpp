#include <utility>

#include "base/json.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/text/byte_tokenizer.h"
#include "headlight/text/char_tokenizer.h"
#include "headlight/text/tokenizer_file.h"
#include "text/bpe_reader.h"
#include "text/byte_characters.h"
#include "text/vocabulary_reader.h"

namespace headlight {
namespace {

std::unique_ptr<Tokenizer> char_tokenizer(const Json& root, const Vocabulary& vocabulary,
                                          std::string_view name) {
  const Json& model = root["model"];
  require(model["merges"].empty(), at(name, "model.merges"),
          ": byte-pair merges are supported with a ByteLevel pre_tokenizer only");
  require(json_string(model, "unk_token", at(name, "model")) == kUnknownName,
          at(name, "model.unk_token"), ": expected \"", kUnknownName, "\"");
  require(model.value("fuse_unk", Json(false)) == Json(false), at(name, "model.fuse_unk"),
          ": expected false");
  require_step(root, "decoder", "Fuse", name);
  require_specials(vocabulary, {kEndOfTextName, kUnknownName}, name);
  // Before the characters or after them.
  const std::size_t count = vocabulary.tokens.size() - 2;
  const bool last = count > 0 && vocabulary.tokens[count] == kEndOfTextName;
  const std::size_t first_special = last ? count : 0;
  require_token(vocabulary, first_special, kEndOfTextName, name);
  require_token(vocabulary, first_special + 1, kUnknownName, name);
  std::vector<char32_t> characters;
  const std::size_t begin = last ? 0 : 2;
  for (std::size_t id = begin; id < begin + count; ++id) {
    const std::string& token = vocabulary.tokens[id];
    const Utf8Character character = first_character(token);
    if (character.length != static_cast<Index>(token.size())) {
      fail(at(name, "model.vocab"), ": ", quoted_text(token),
           " has more than one character, expected one character per token");
    }
    characters.push_back(character.code_point);
  }
  return std::make_unique<CharTokenizer>(std::move(characters),
                                         last ? SpecialTokens::last : SpecialTokens::first);
}

std::unique_ptr<Tokenizer> byte_tokenizer(const Vocabulary& vocabulary, std::string_view name) {
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

// The tokenizers whose file says ByteLevel.
std::unique_ptr<Tokenizer> byte_level_tokenizer(const Json& root, const Vocabulary& vocabulary,
                                                std::string_view name) {
  require_step(root, "pre_tokenizer", "ByteLevel", name);
  require_step(root, "decoder", "ByteLevel", name);
  const Json& step = root["pre_tokenizer"];
  require(step.value("add_prefix_space", Json()) == Json(false),
          at(name, "pre_tokenizer.add_prefix_space"), ": expected false");
  const bool whole_texts = step.value("use_regex", Json(true)) == Json(false);
  // Without merges, pieces make no difference.
  if (whole_texts && root["model"]["merges"].empty()) {
    return byte_tokenizer(vocabulary, name);
  }
  require(!whole_texts, at(name, "pre_tokenizer.use_regex"),
          ": expected true, merges across the pieces of GPT-2's pattern are not supported");
  return read_bpe_tokenizer(root, vocabulary, name);
}

// Whether texts begin with <|endoftext|>: the one template that Headlight writes, or none.
bool read_post_processor(const Json& root, std::int32_t end_of_text, std::string_view name) {
  if (is_null(root, "post_processor")) {
    return false;
  }
  const std::string key = at(name, "post_processor");
  const Json& step = root["post_processor"];
  if (json_string(step, "type", key) == "ByteLevel") {
    return false;  // moves offsets only
  }
  require_step(root, "post_processor", "TemplateProcessing", name);
  const Json& single = json_member(step, "single", key);
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  if (single == Json::array({text})) {
    return false;  // transformers 5 writes this for none
  }
  const Json expected = {{{"SpecialToken", {{"id", kEndOfTextName}, {"type_id", 0}}}}, text};
  require(single == expected, key, ": expected the template ", kEndOfTextName, " $A");
  const Json& special = json_member(step, "special_tokens", key);
  const Json& ids = json_member(json_member(special, std::string(kEndOfTextName), key), "ids", key);
  require(ids == Json::array({end_of_text}), key, ".special_tokens: expected ids [", end_of_text,
          "] for ", kEndOfTextName);
  return true;
}

void require_bpe_model(const Json& model, std::string_view name) {
  // Files of the time when BPE was the only model that has merges do not say its type.
  const bool untyped = model.is_object() && !model.contains("type") && model.contains("merges");
  const std::string type = untyped ? "BPE" : json_string(model, "type", at(name, "model"));
  require(type == "BPE", at(name, "model.type"), ": expected \"BPE\", got ", quoted_text(type));
  const Json& merges = json_member(model, "merges", at(name, "model"));
  require(merges.is_array(), at(name, "model.merges"), ": expected an array, got ",
          merges.type_name());
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const bool none = is_null(model, key) || model[key] == "";
    require(none, at(name, "model."), key, ": prefixes and suffixes of tokens are not supported");
  }
}

}  // namespace

std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view text, std::string_view name) {
  const Json root = parse_json(text, name);
  const Json& model = json_member(root, "model", name);
  require_bpe_model(model, name);
  require(is_null(root, "normalizer"), at(name, "normalizer"), ": expected null");
  const Json& vocab = json_member(model, "vocab", at(name, "model"));
  require(!vocab.empty(), at(name, "model.vocab"),
          ": is empty, expected the tokens with their ids");
  const Vocabulary vocabulary = read_vocabulary(vocab, json_member(root, "added_tokens", name),
                                                at(name, "model.vocab"), at(name, "added_tokens"));
  auto tokenizer = is_null(root, "pre_tokenizer") ? char_tokenizer(root, vocabulary, name)
                                                  : byte_level_tokenizer(root, vocabulary, name);
  tokenizer->set_prepends_end_of_text(read_post_processor(root, tokenizer->end_of_text(), name));
  return tokenizer;
}

}  // namespace headlight
