#include "headlight/formats/tokenizers/tokenizer_file.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/tokenizers/bpe_tokenizer.h"
#include "headlight/tokenizers/byte_tokenizer.h"
#include "headlight/tokenizers/char_tokenizer.h"
#include "storage/lfs_pointer.h"
#include "tokenizers/byte_characters.h"
#include "tokenizers/pipeline/pipeline_tokenizer.h"

namespace headlight {
namespace {

// The vocabulary and special tokens of a file, checked: ids 0 ... V - 1 occur once each.
struct Vocabulary {
  std::vector<std::string> tokens;  // [V]
  std::vector<std::string> specials;
};

using TokenList = std::vector<std::pair<std::string, std::uint64_t>>;

// Error messages are built only on failure: a vocabulary may be long.
std::uint64_t token_id(const Json& value, const std::string& token, std::string_view where) {
  if (!value.is_natural()) {
    fail(where, ": id of ", quoted_text(token), " must be a whole number from 0, got ",
         quoted_text(value.dump()));
  }
  return value.natural();
}

// Special tokens may be in the vocabulary, in added_tokens, or in both with the same id.
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
      require(token_id(*same, token, vocab_key) == id, added_key, " gives ", quoted_text(token),
              " the id ", id, ", but model.vocab gives it ", same->dump());
    }
  }
  return tokens;
}

// Returns "NAME: KEY", which begins an error message. `name` is always the file.
std::string at(std::string_view name, std::string_view key) { return concat_text(name, ": ", key); }

// Reads the tokens of the object `vocab` and the list `added`; messages name them by the keys.
// Throws Error unless every id 0 ... V - 1 occurs once and all added tokens are special.
Vocabulary read_vocabulary(const Json& vocab, const Json& added, std::string_view vocab_key,
                           std::string_view added_key) {
  const auto tokens = all_tokens(vocab, added, vocab_key, added_key);
  Vocabulary result;
  result.tokens.resize(tokens.size());
  for (const auto& [token, id] : tokens) {
    require(!token.empty(), vocab_key, ": a token is empty");
    if (id >= tokens.size()) {
      fail(vocab_key, ": id ", id, " of ", quoted_text(token), " is out of range, expected 0 ... ",
           tokens.size() - 1, " without gaps");
    }
    std::string& slot = result.tokens[static_cast<std::size_t>(id)];
    if (!slot.empty()) {
      fail(vocab_key, ": ", quoted_text(token), " and ", quoted_text(slot), " have the same id ",
           id);
    }
    slot = token;
  }
  for (const Json& entry : added) {
    result.specials.push_back(entry["content"].text());
  }
  return result;
}

// Throws Error unless the file's special tokens are exactly the expected ones.
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

// Throws Error unless the token has the id `id`.
void require_token(const Vocabulary& vocabulary, std::size_t id, std::string_view token,
                   std::string_view name) {
  require(id < vocabulary.tokens.size(), at(name, "model.vocab"), ": id ", id, " is missing");
  require(vocabulary.tokens[id] == token, at(name, "model.vocab"), ": id ", id, " must be ",
          quoted_text(token), ", got ", quoted_text(vocabulary.tokens[id]));
}

// Throws Error unless root[key] has this type.
void require_step(const Json& root, const std::string& key, const char* type,
                  std::string_view name) {
  const std::string got = json_string(json_member(root, key, name), "type", at(name, key));
  require(got == type, at(name, key), ": expected type \"", type, "\", got ", quoted_text(got));
}

// Builds a BpeVocabulary from token names in byte characters.
class BpeVocabularyBuilder {
 public:
  // Throws Error that begins with `vocab_key` if a name has other characters. The vocabulary must
  // outlive the builder.
  BpeVocabularyBuilder(const Vocabulary& vocabulary, std::string_view vocab_key) {
    const auto& names = vocabulary.tokens;
    ids_.reserve(names.size());
    for (std::size_t id = 0; id < names.size(); ++id) {
      ids_.emplace(names[id], static_cast<std::int32_t>(id));
    }
    std::vector<bool> is_special(names.size());
    for (const std::string& special : vocabulary.specials) {
      result_.special.push_back({special, ids_.at(special)});
      is_special[static_cast<std::size_t>(ids_.at(special))] = true;
    }
    for (std::size_t id = 0; id < names.size(); ++id) {
      auto bytes = is_special[id] ? std::string() : bytes_of_name(names[id]);
      if (!bytes) {
        fail(vocab_key, ": ", quoted_text(names[id]), " is not written in GPT-2's byte characters");
      }
      result_.tokens.push_back(std::move(*bytes));
    }
  }

  // Adds the next merge by rank. Throws Error that begins with `where` if a token is unknown.
  void add_merge(std::string_view left, std::string_view right, std::string_view where) {
    result_.merges.push_back({id_of(left, where), id_of(right, where)});
  }

  // Adds a merge written as "LEFT RIGHT". Throws Error unless it contains exactly one blank.
  void add_merge(std::string_view pair, std::string_view where) {
    const std::size_t blank = pair.find(' ');
    if (blank == std::string_view::npos || pair.find(' ', blank + 1) != std::string_view::npos) {
      fail(where, ": merge ", result_.merges.size(),
           ": expected two tokens with a space between, got ", quoted_text(pair));
    }
    add_merge(pair.substr(0, blank), pair.substr(blank + 1), where);
  }

  BpeVocabulary take() { return std::move(result_); }

 private:
  std::int32_t id_of(std::string_view token, std::string_view where) const {
    const auto found = ids_.find(token);
    if (found == ids_.end()) {
      fail(where, ": merge ", result_.merges.size(), ": ", quoted_text(token),
           " is not in the vocabulary");
    }
    return found->second;
  }

  TextMap<std::int32_t> ids_;
  BpeVocabulary result_;
};

void add_merges(const Json& merges, BpeVocabularyBuilder& builder, std::string_view name) {
  const std::string key = at(name, "model.merges");
  for (const Json& merge : merges) {
    if (merge.is_string()) {
      builder.add_merge(merge.text(), key);
    } else {
      const auto [left, right] = merge_pair(merge, key);
      builder.add_merge(left, right, key);
    }
  }
}

// Returns the position of the special tokens of a vocabulary of characters.
SpecialTokens specials_position(const Json& model, const Vocabulary& vocabulary,
                                std::string_view name) {
  if (is_null(model, "unk_token") && vocabulary.specials.empty()) {
    return SpecialTokens::none;
  }
  require(json_string(model, "unk_token", at(name, "model")) == kUnknownName,
          at(name, "model.unk_token"), ": expected \"", kUnknownName, "\"");
  require_specials(vocabulary, {kEndOfTextName, kUnknownName}, name);
  const std::size_t count = vocabulary.tokens.size() - 2;
  const bool last = count > 0 && vocabulary.tokens[count] == kEndOfTextName;
  const std::size_t first_special = last ? count : 0;
  require_token(vocabulary, first_special, kEndOfTextName, name);
  require_token(vocabulary, first_special + 1, kUnknownName, name);
  return last ? SpecialTokens::last : SpecialTokens::first;
}

std::unique_ptr<Tokenizer> char_tokenizer(const Json& root, const Vocabulary& vocabulary,
                                          std::string_view name) {
  const Json& model = root["model"];
  require(model["merges"].empty(), at(name, "model.merges"),
          ": byte-pair merges are supported with a ByteLevel pre_tokenizer only");
  require(model.value("fuse_unk", Json(false)) == Json(false), at(name, "model.fuse_unk"),
          ": expected false");
  require_step(root, "decoder", "Fuse", name);
  const SpecialTokens specials = specials_position(model, vocabulary, name);
  const std::size_t begin = specials == SpecialTokens::first ? 2 : 0;
  const std::size_t end = vocabulary.tokens.size() - (specials == SpecialTokens::last ? 2 : 0);
  std::vector<char32_t> characters;
  for (std::size_t id = begin; id < end; ++id) {
    const std::string& token = vocabulary.tokens[id];
    const Utf8Character character = first_character(token);
    if (character.length != static_cast<Index>(token.size())) {
      fail(at(name, "model.vocab"), ": ", quoted_text(token),
           " has more than one character, expected one character per token");
    }
    characters.push_back(character.code_point);
  }
  return std::make_unique<CharTokenizer>(std::move(characters), specials);
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

// Reads a tokenizer whose file has the ByteLevel pre-tokenizer.
std::unique_ptr<Tokenizer> byte_level_tokenizer(const Json& root, const Vocabulary& vocabulary,
                                                std::string_view name) {
  require_step(root, "pre_tokenizer", "ByteLevel", name);
  require_step(root, "decoder", "ByteLevel", name);
  const Json& step = root["pre_tokenizer"];
  require(step.value("add_prefix_space", Json()) == Json(false),
          at(name, "pre_tokenizer.add_prefix_space"), ": expected false");
  const bool whole_texts = step.value("use_regex", Json(true)) == Json(false);
  // Without merges, cutting into pieces makes no difference.
  if (whole_texts && root["model"]["merges"].empty()) {
    return byte_tokenizer(vocabulary, name);
  }
  require(!whole_texts, at(name, "pre_tokenizer.use_regex"),
          ": expected true, merges across the pieces of GPT-2's pattern are not supported");
  BpeVocabularyBuilder builder(vocabulary, at(name, "model.vocab"));
  add_merges(root["model"]["merges"], builder, name);
  return std::make_unique<BpeTokenizer>(builder.take(), at(name, "model"));
}

// Returns the special token that begins texts, or nullopt. Supports only Headlight's template.
std::optional<std::int32_t> read_post_processor(const Json& root, const Tokenizer& tokenizer,
                                                std::string_view name) {
  if (is_null(root, "post_processor")) {
    return std::nullopt;
  }
  const std::string key = at(name, "post_processor");
  const Json& step = root["post_processor"];
  if (json_string(step, "type", key) == "ByteLevel") {
    return std::nullopt;  // changes only offsets
  }
  require_step(root, "post_processor", "TemplateProcessing", name);
  const Json& single = json_member(step, "single", key);
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view token = tokenizer.special_name(id);
    if (token.empty()) {
      continue;
    }
    const Json expected = template_json({std::string(token), id})["single"];
    if (single == Json::array({expected[1]})) {
      return std::nullopt;  // transformers 5 writes this if there is no template
    }
    if (single == expected) {
      const Json& special = json_member(step, "special_tokens", key);
      require(json_member(json_member(special, token, key), "ids", key) == Json::array({id}), key,
              ".special_tokens: expected ids [", id, "] for ", token);
      return id;
    }
  }
  fail(key, ": expected the template ", kEndOfTextName, " $A");
}

void require_bpe_model(const Json& model, std::string_view name) {
  // Old files omit the type: BPE was then the only model with merges.
  const bool untyped = model.is_object() && !model.contains("type") && model.contains("merges");
  const std::string type = untyped ? "BPE" : json_string(model, "type", at(name, "model"));
  require(type == "BPE", at(name, "model.type"),
          ": expected \"BPE\", \"WordPiece\", \"WordLevel\" or \"Unigram\", got ",
          quoted_text(type));
  const Json& merges = json_member(model, "merges", at(name, "model"));
  require(merges.is_array(), at(name, "model.merges"), ": expected an array, got ",
          merges.type_name());
  require(is_null(model, "dropout") || model["dropout"] == Json(0), at(name, "model.dropout"),
          ": expected null");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const bool none = is_null(model, key) || model[key] == "";
    require(none, at(name, "model."), key, ": prefixes and suffixes of tokens are not supported");
  }
}

// Returns the text before the next line break; removes both from `text`.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

Json added_tokens(const Tokenizer& tokenizer) {
  Json tokens = Json::array();
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view name = tokenizer.special_name(id);
    if (!name.empty()) {
      tokens.push_back(added_token_json(id, name, true));
    }
  }
  return tokens;
}

// Returns the step that adds begin_of_text() before a text, or null.
Json post_processor(const Tokenizer& tokenizer) {
  if (!tokenizer.prepends_begin_token()) {
    return nullptr;
  }
  const std::int32_t begin = tokenizer.begin_of_text();
  return template_json({std::string(tokenizer.special_name(begin)), begin});
}

// Returns the name of a token in tokenizer files.
std::string name_in_file(const Tokenizer& tokenizer, std::int32_t id) {
  const std::string_view special = tokenizer.special_name(id);
  if (!special.empty()) {
    return std::string(special);
  }
  const std::string bytes = tokenizer.token_bytes(id);
  return tokenizer.kind() == "char" ? bytes : byte_name(bytes);
}

Json vocabulary(const Tokenizer& tokenizer) {
  Json result = Json::object();
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    result.add(name_in_file(tokenizer, id), id);
  }
  return result;
}

// Writes merges as strings, which old and new versions of `tokenizers` read.
Json merges(const BpeTokenizer& tokenizer) {
  Json result = Json::array();
  for (const auto& [left, right] : tokenizer.vocabulary().merges) {
    result.push_back(byte_name(tokenizer.token_bytes(left)) + " " +
                     byte_name(tokenizer.token_bytes(right)));
  }
  return result;
}

Json model(const Tokenizer& tokenizer) {
  Json result = {{"type", "BPE"}, {"dropout", nullptr}, {"unk_token", nullptr}};
  if (tokenizer.unknown()) {
    result["unk_token"] = kUnknownName;
  }
  result["continuing_subword_prefix"] = nullptr;
  result["end_of_word_suffix"] = nullptr;
  result["fuse_unk"] = false;
  result["byte_fallback"] = false;
  result["ignore_merges"] = false;
  result["vocab"] = vocabulary(tokenizer);
  const auto* pairs = dynamic_cast<const BpeTokenizer*>(&tokenizer);
  result["merges"] = pairs == nullptr ? Json::array() : merges(*pairs);
  return result;
}

// True if the special tokens need no pipeline: none strips blanks or checks its neighbours. They
// must agree in "normalized": then, without a normalizer, one search finds all of them.
bool has_plain_names(const Json& added) {
  bool ends = false;
  for (const Json& entry : added) {
    for (const char* flag : {"single_word", "lstrip", "rstrip"}) {
      if (entry.value(flag, Json(false)) != Json(false)) {
        return false;
      }
    }
    if (entry.value("normalized", Json(false)) != added.front().value("normalized", Json(false)) ||
        entry.value("special", Json(true)) == Json(false)) {
      return false;
    }
    ends = ends || entry.value("content", Json()) == Json(kEndOfTextName);
  }
  return ends;
}

// True if the ids of the vocabulary have no gap, and added tokens have their ids from it or the
// next ids in file order.
bool has_own_ids(const Json& vocab, const Json& added) {
  if (!vocab.is_object()) {
    return true;
  }
  std::size_t next = vocab.size();
  for (const auto& [token, id] : vocab.members()) {
    if (id.is_natural() && id.natural() >= next) {
      return false;
    }
  }
  for (const Json& entry : added) {
    const Json content = entry.value("content", Json());
    const Json* known = content.is_string() ? vocab.find(content.text()) : nullptr;
    if (entry.value("id", Json()) != (known != nullptr ? *known : Json(next++))) {
      return false;
    }
  }
  return true;
}

// True if each byte has a token and all other tokens are made of bytes. `only_bytes`: there are no
// other tokens but added ones, and the bytes are in order.
bool has_whole_alphabet(const Json& model, const Json& added, bool only_bytes) {
  const Json* vocab = model.find("vocab");
  if (vocab == nullptr || !vocab->is_object()) {
    return true;  // refused later, by name
  }
  std::set<std::string_view> specials;
  for (const Json& entry : added) {
    if (const Json* content = entry.find("content"); content != nullptr && content->is_string()) {
      specials.insert(content->text());
    }
  }
  std::size_t bytes = 0;
  for (const auto& [token, id] : vocab->members()) {
    if (specials.contains(token)) {
      continue;
    }
    const auto text = bytes_of_name(token);
    const bool is_byte = text && text->size() == 1;
    bytes += is_byte ? 1 : 0;
    if (!text ||
        (only_bytes && !(is_byte && id == Json(Index{static_cast<std::uint8_t>(text->front())})))) {
      return false;
    }
  }
  return bytes == 256;
}

// True for a post-processor that adds nothing, or one special token before a text.
bool has_own_template(const Json& root) {
  const Json step = root.value("post_processor", Json());
  if (!step.is_object() || is_step(step, "ByteLevel")) {
    return true;
  }
  const Json single = step.value("single", Json());
  const auto is_text = [](const Json& item) {
    return item == Json{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  };
  return is_step(step, "TemplateProcessing") && single.is_array() &&
         ((single.size() == 1 && is_text(single[0])) || (single.size() == 2 && is_text(single[1])));
}

// True for files like Headlight's own and GPT-2's, which are read with strict checks.
bool is_headlight_format(const Json& root) {
  const Json& model = root["model"];
  const Json* added = root.find("added_tokens");
  if (!is_null(root, "normalizer") || model.value("ignore_merges", Json()) == Json(true) ||
      !has_own_template(root) || root.contains(kSplitSpecial)) {
    return false;
  }
  if (is_null(root, "pre_tokenizer")) {
    return model["merges"].empty();
  }
  const Json& step = root["pre_tokenizer"];
  const bool cuts = step.value("use_regex", Json(true)) == Json(true);
  const bool byte_level = is_step(step, "ByteLevel") &&
                          step.value("add_prefix_space", Json()) == Json(false) &&
                          (cuts || model["merges"].empty());
  return byte_level && added != nullptr && added->is_array() && has_plain_names(*added) &&
         has_own_ids(model.value("vocab", Json()), *added) &&
         has_whole_alphabet(model, *added, !cuts);
}

// Returns the merges in GPT-2's merges.txt, one for each line.
std::vector<std::string_view> merge_lines(std::string_view merges_txt) {
  std::vector<std::string_view> merges;
  if (merges_txt.starts_with("#version")) {
    take_line(merges_txt);
  }
  while (!merges_txt.empty()) {
    merges.push_back(take_line(merges_txt));
  }
  return merges;
}

// Returns the tokenizer's file, changed if prepends_begin_token() has changed.
std::string pipeline_json(const PipelineTokenizer& tokenizer) {
  if (tokenizer.prepends_begin_token() == tokenizer.file_prepends()) {
    return tokenizer.file();
  }
  Json root = parse_json(tokenizer.file(), "tokenizer.json");
  root["post_processor"] = post_processor(tokenizer);
  return root.dump(2) + "\n";
}

}  // namespace

std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view text, std::string_view name,
                                                std::string_view end_name) {
  refuse_lfs_pointer(text, name);
  return read_tokenizer_json(parse_json(text, name), text, name, end_name);
}

std::unique_ptr<Tokenizer> read_tokenizer_json(const Json& root, std::string_view text,
                                               std::string_view name, std::string_view end_name) {
  const Json& model = json_member(root, "model", name);
  if (is_step(model, "WordPiece") || is_step(model, "Unigram") || is_step(model, "WordLevel")) {
    return read_pipeline_tokenizer(root, text, end_name, name);
  }
  require_bpe_model(model, name);
  if (!is_headlight_format(root)) {
    return read_pipeline_tokenizer(root, text, end_name, name);
  }
  const Json& vocab = json_member(model, "vocab", at(name, "model"));
  require(!vocab.empty(), at(name, "model.vocab"),
          ": is empty, expected the tokens with their ids");
  const Vocabulary vocabulary = read_vocabulary(vocab, json_member(root, "added_tokens", name),
                                                at(name, "model.vocab"), at(name, "added_tokens"));
  auto tokenizer = is_null(root, "pre_tokenizer") ? char_tokenizer(root, vocabulary, name)
                                                  : byte_level_tokenizer(root, vocabulary, name);
  if (const auto end = tokenizer->special_id(end_name)) {
    tokenizer->set_stop_tokens({*end});
  }
  if (const auto first = read_post_processor(root, *tokenizer, name)) {
    tokenizer->set_prepends_begin_token(true);
    tokenizer->set_begin_of_text(*first);
  }
  return tokenizer;
}

bool splits_special_tokens(const Tokenizer& tokenizer) {
  const auto* pipeline = dynamic_cast<const PipelineTokenizer*>(&tokenizer);
  return pipeline != nullptr && pipeline->splits_special();
}

Json gpt2_tokenizer_json(std::string_view vocab_json, std::string_view merges_txt,
                         std::string_view name) {
  return {{"version", "1.0"},
          {"added_tokens", Json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level_json(true)},
          {"post_processor", nullptr},
          {"decoder", byte_level_json(true)},
          {"model",
           {{"type", "BPE"},
            {"vocab", parse_json(vocab_json, at(name, "vocab.json"))},
            {"merges", merge_lines(merges_txt)}}}};
}

std::unique_ptr<Tokenizer> parse_gpt2_vocabulary(std::string_view vocab_json,
                                                 std::string_view merges_txt, std::string_view name,
                                                 std::string_view end_name) {
  return read_gpt2_json(gpt2_tokenizer_json(vocab_json, merges_txt, name), name, end_name);
}

std::unique_ptr<Tokenizer> read_gpt2_json(Json root, std::string_view name,
                                          std::string_view end_name, bool splits_special) {
  const std::string vocab_key = at(name, "vocab.json");
  const std::string end(end_name.empty() ? kEndOfTextName : end_name);
  const auto is_end = [&](const Json& entry) { return entry["content"] == Json(end); };
  if (std::ranges::none_of(root["added_tokens"], is_end)) {
    // GPT-2's files list this special token with the other tokens.
    const Json id = json_member(root["model"]["vocab"], end, vocab_key);
    root["added_tokens"].push_back({{"content", end}, {"id", id}, {"special", true}});
  }
  const Json& vocab = root["model"]["vocab"];
  const Json& added = root["added_tokens"];
  if (end != kEndOfTextName || added.size() > 1 || !is_headlight_format(root) ||
      !is_null(root, "post_processor") || splits_special) {
    const std::string text = root.dump();
    if (splits_special) {
      root[kSplitSpecial] = true;
    }
    return read_tokenizer_json(root, text, name, end);
  }
  const Vocabulary vocabulary = read_vocabulary(vocab, added, vocab_key, vocab_key);
  BpeVocabularyBuilder builder(vocabulary, vocab_key);
  const std::string merges_key = at(name, "merges.txt");
  for (const Json& merge : root["model"]["merges"]) {
    builder.add_merge(merge.text(), merges_key);
  }
  return std::make_unique<BpeTokenizer>(builder.take(), name);
}

std::string to_tokenizer_json(const Tokenizer& tokenizer) {
  if (const auto* pipeline = dynamic_cast<const PipelineTokenizer*>(&tokenizer)) {
    return pipeline_json(*pipeline);
  }
  const bool pairs = tokenizer.kind() == "bpe";
  const bool bytes = pairs || tokenizer.kind() == "byte";
  require(bytes || tokenizer.kind() == "char", "[to_tokenizer_json] tokenizers of kind ",
          tokenizer.kind(), " cannot be written");
  Json root = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  root["added_tokens"] = added_tokens(tokenizer);
  root["normalizer"] = nullptr;
  root["pre_tokenizer"] = nullptr;
  root["post_processor"] = post_processor(tokenizer);
  root["decoder"] = {{"type", "Fuse"}};
  if (bytes) {
    root["pre_tokenizer"] = byte_level_json(pairs);
    root["decoder"] = byte_level_json(pairs);
  }
  root["model"] = model(tokenizer);
  return root.dump(2) + "\n";
}

}  // namespace headlight
