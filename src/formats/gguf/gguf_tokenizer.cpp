#include "headlight/formats/gguf/gguf_tokenizer.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <tuple>
#include <unordered_map>

#include "base/printable.h"
#include "formats/gguf/gguf_pre_tokenizer.h"
#include "formats/gguf/gguf_vocabulary.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/formats/tokenizers/tokenizer_file.h"

namespace headlight {
namespace {

constexpr std::size_t kMostTokens = std::size_t{1} << 19;
constexpr std::size_t kMostBytes = std::size_t{1} << 25;  // of tokens; of merges
constexpr std::size_t kMostMerges = std::size_t{1} << 20;
constexpr std::size_t kLongestPiece = 256;  // bytes; every split of a piece is looked up

// Reads values under keys that begin with tokenizer.ggml.
class TokenizerKeys {
 public:
  explicit TokenizerKeys(const GgufFile& file) : file_(file) {}

  // Returns "FILE: tokenizer.ggml.KEY" for messages.
  std::string at(std::string_view key) const {
    return concat_text(shown(file_.path()), ": tokenizer.ggml.", key);
  }

  // Returns the value of a key; null if it is missing.
  template <class T>
  const T* find(std::string_view key, std::string_view expected) const {
    const GgufValue* value = file_.find_value(concat_text("tokenizer.ggml.", key));
    require(value == nullptr || std::holds_alternative<T>(*value), at(key), ": expected ", expected,
            ", got another type");
    return value == nullptr ? nullptr : &std::get<T>(*value);
  }

  template <class T>
  const std::vector<T>* find_list(std::string_view key, std::string_view expected) const {
    const GgufArray* list = find<GgufArray>(key, expected);
    require(list == nullptr || std::holds_alternative<std::vector<T>>(*list), at(key),
            ": expected ", expected, ", got a list of another type");
    return list == nullptr ? nullptr : &std::get<std::vector<T>>(*list);
  }

  std::string text(std::string_view key, std::string_view otherwise) const {
    const auto* value = find<std::string>(key, "a text");
    return value == nullptr ? std::string(otherwise) : *value;
  }
  bool flag(std::string_view key, bool otherwise) const {
    const bool* value = find<bool>(key, "true or false");
    return value == nullptr ? otherwise : *value;
  }

 private:
  const GgufFile& file_;
};

// The tokens of a file, their types and special ids.
struct GgufTokens {
  std::vector<std::string_view> names = {};  // [V]
  std::unordered_map<std::string_view, std::int32_t> ids = {};
  std::vector<std::int32_t> types = {};  // [V]
  std::int32_t begin = -1;               // -1: none
  std::int32_t end = -1;
  std::int32_t unknown = -1;
  std::deque<std::string> respelled = {};  // names that differ from the file's
};

void read_names(const TokenizerKeys& keys, GgufTokens& tokens) {
  const auto* names = keys.find_list<std::string>("tokens", "a list of texts");
  const std::string where = keys.at("tokens");
  require(names != nullptr, where, ": is missing");
  require(!names->empty() && names->size() <= kMostTokens, where, ": expected 1 to ", kMostTokens,
          " tokens, got ", names->size());
  tokens.ids.reserve(names->size());
  std::size_t bytes = 0;
  for (const std::string& name : *names) {
    const auto id = static_cast<std::int32_t>(tokens.names.size());
    require(!name.empty(), where, ": token ", id, " is empty");
    require(valid_utf8_prefix(name) == name.size(), where, ": token ", id, " is not UTF-8");
    bytes += name.size();
    require(bytes <= kMostBytes, where, ": more than ", kMostBytes, " bytes");
    const auto [other, is_new] = tokens.ids.emplace(name, id);
    if (!is_new) {
      fail(where, ": ", quoted_text(name), " is token ", other->second, " and token ", id);
    }
    tokens.names.push_back(name);
  }
}

// Returns the id under a key. Without the key, returns `otherwise`, or -1 if it is no token's id.
std::int32_t read_id(const TokenizerKeys& keys, const GgufTokens& tokens, std::string_view key,
                     std::int32_t otherwise) {
  const auto count = static_cast<std::int64_t>(tokens.names.size());
  const auto* id = keys.find<std::uint32_t>(key, "a uint32");
  if (id == nullptr) {
    return otherwise < count ? otherwise : -1;
  }
  require(*id < count, keys.at(key), ": expected 0 to ", count - 1, ", got ", *id);
  return static_cast<std::int32_t>(*id);
}

template <class T>
std::vector<T> list_of_all(const TokenizerKeys& keys, const GgufTokens& tokens,
                           std::string_view key, std::string_view expected) {
  const auto* values = keys.find_list<T>(key, expected);
  require(values == nullptr || values->size() == tokens.names.size(), keys.at(key), ": expected ",
          tokens.names.size(), " values, one for each token, got ",
          values == nullptr ? 0 : values->size());
  return values == nullptr ? std::vector<T>() : *values;
}

// Reads the tokens. By default, SentencePiece's models begin with <unk>, <s> and </s>.
GgufTokens read_tokens(const TokenizerKeys& keys, bool sentencepiece) {
  GgufTokens tokens;
  read_names(keys, tokens);
  tokens.types = list_of_all<std::int32_t>(keys, tokens, "token_type", "a list of int32");
  tokens.types.resize(tokens.names.size(), kNormal);
  tokens.unknown = read_id(keys, tokens, "unknown_token_id", sentencepiece ? 0 : -1);
  tokens.begin = read_id(keys, tokens, "bos_token_id", sentencepiece ? 1 : -1);
  tokens.end = read_id(keys, tokens, "eos_token_id", sentencepiece ? 2 : -1);
  return tokens;
}

// Replaces blanks by marks in Gemma's runs of blanks. llama.cpp's files hold them as blanks with
// any score; in tokenizer.json they are marks that merge before anything else.
void respell_blanks(GgufTokens& tokens, std::vector<float>& scores) {
  constexpr float kFirst = 1 << 24;  // above all scores; integers below it are exact
  for (std::size_t id = 0; id < tokens.names.size(); ++id) {
    const std::string_view name = tokens.names[id];
    if (tokens.types[id] != kUserDefined || name.find_first_not_of(' ') != name.npos) {
      continue;
    }
    std::string marks;
    for (std::size_t i = 0; i < name.size(); ++i) {
      marks += kMark;
    }
    if (!tokens.ids.contains(marks)) {
      tokens.ids.erase(name);
      tokens.names[id] = tokens.respelled.emplace_back(std::move(marks));
      tokens.ids.emplace(tokens.names[id], static_cast<std::int32_t>(id));
      tokens.types[id] = kNormal;
      scores[id] = kFirst - static_cast<float>(id);
    }
  }
}

// Returns the tokens that are found in the text before any other step.
Json added_tokens(const GgufTokens& tokens) {
  Json result = Json::array();
  for (std::size_t id = 0; id < tokens.names.size(); ++id) {
    const std::int32_t type = tokens.types[id];
    const auto number = static_cast<std::int32_t>(id);
    const bool special =
        type == kControl || type == kUnknown || number == tokens.begin || number == tokens.end;
    if (special || type == kUserDefined) {
      result.push_back(added_token_json(number, tokens.names[id], special));
    }
  }
  return result;
}

Json vocabulary(const GgufTokens& tokens) {
  Json result = Json::object();
  for (std::size_t id = 0; id < tokens.names.size(); ++id) {
    result.add(std::string(tokens.names[id]), id);
  }
  return result;
}

// Returns the step that puts the begin token before a text, or null.
Json template_of(const TokenizerKeys& keys, const GgufTokens& tokens, bool otherwise) {
  if (!keys.flag("add_bos_token", otherwise)) {
    return nullptr;
  }
  require(tokens.begin >= 0, keys.at("bos_token_id"),
          ": is missing, but texts must begin with this token");
  return template_json(tokens.names[static_cast<std::size_t>(tokens.begin)], tokens.begin);
}

Json sequence(const char* list, Json steps) {
  Json result = {{"type", "Sequence"}};
  result[list] = std::move(steps);
  return result;
}

Json split_by(std::string_view regex) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", regex}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

// Returns the steps that cut a text, as a sequence even if there is one step.
Json pre_tokenizer(const GgufPreTokenizer& pieces) {
  Json steps = Json::array();
  if (pieces.digits) {
    steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  }
  for (const std::string_view pattern : pieces.patterns) {
    steps.push_back(split_by(pattern));
  }
  steps.push_back(byte_level_json(pieces.patterns.empty()));
  return sequence("pretokenizers", std::move(steps));
}

Json written_merges(const TokenizerKeys& keys) {
  const auto* merges = keys.find_list<std::string>("merges", "a list of texts");
  const std::string where = keys.at("merges");
  require(merges != nullptr, where, ": is missing");
  require(merges->size() <= kMostMerges, where, ": expected at most ", kMostMerges, " merges, got ",
          merges->size());
  std::size_t bytes = 0;
  Json result = Json::array();
  for (const std::string& merge : *merges) {
    require(valid_utf8_prefix(merge) == merge.size(), where, ": merge ", result.size(),
            " is not UTF-8");
    bytes += merge.size();
    require(bytes <= kMostBytes, where, ": more than ", kMostBytes, " bytes");
    result.push_back(merge);
  }
  return result;
}

Json bpe_json(const TokenizerKeys& keys, const GgufTokens& tokens) {
  const GgufPreTokenizer& pieces =
      gguf_pre_tokenizer(keys.at("pre"), keys.text("pre", kDefaultPieces));
  Json root = {{"version", "1.0"}, {"added_tokens", added_tokens(tokens)}};
  root["normalizer"] = pieces.nfc ? Json({{"type", "NFC"}}) : Json();
  root["pre_tokenizer"] = pre_tokenizer(pieces);
  root["post_processor"] = template_of(keys, tokens, pieces.begins);
  root["decoder"] = byte_level_json(true);
  root["model"] = {{"type", "BPE"},
                   {"ignore_merges", pieces.whole},
                   {"vocab", vocabulary(tokens)},
                   {"merges", written_merges(keys)}};
  return root;
}

struct ScoredMerge {
  std::string_view left;
  std::string_view right;
  std::tuple<float, Index, Index> rank;  // score, characters on the left, characters on the right
};

std::vector<float> read_scores(const TokenizerKeys& keys, const GgufTokens& tokens) {
  std::vector<float> scores = list_of_all<float>(keys, tokens, "scores", "a list of float32");
  require(!scores.empty(), keys.at("scores"), ": is missing");
  for (std::size_t id = 0; id < scores.size(); ++id) {
    require(std::isfinite(scores[id]), keys.at("scores"), ": token ", id,
            ": expected a finite number");
  }
  return scores;
}

// All pairs of tokens that make a token. SentencePiece first merges the pair whose result has the
// highest score. Equal scores are ordered as in transformers' generate_merges().
class MergesByScore {
 public:
  MergesByScore(const TokenizerKeys& keys, const GgufTokens& tokens, std::vector<float> scores)
      : keys_(keys), tokens_(tokens), scores_(std::move(scores)) {
    for (std::size_t id = 0; id < tokens.names.size(); ++id) {
      if (is_piece(id)) {
        add_pairs(id);
      }
    }
    std::stable_sort(merges_.begin(), merges_.end(),
                     [](const auto& a, const auto& b) { return a.rank > b.rank; });
  }

  Json json() const {
    Json result = Json::array();
    for (const ScoredMerge& merge : merges_) {
      result.push_back(Json::array({merge.left, merge.right}));
    }
    return result;
  }

 private:
  bool is_piece(std::size_t id) const {
    return tokens_.types[id] == kNormal || tokens_.types[id] == kUserDefined;
  }

  std::int32_t piece_of(std::string_view text) const {
    const auto found = tokens_.ids.find(text);
    const bool known =
        found != tokens_.ids.end() && is_piece(static_cast<std::size_t>(found->second));
    return known ? found->second : -1;
  }

  void add_pairs(std::size_t id) {
    const std::string_view name = tokens_.names[id];
    require(name.size() <= kLongestPiece, keys_.at("tokens"), ": token ", id, ": expected at most ",
            kLongestPiece, " bytes, got ", name.size());
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (std::size_t i = static_cast<std::size_t>(first_character(name).length); i < name.size();
         i += static_cast<std::size_t>(first_character(name.substr(i)).length)) {
      const std::int32_t left = piece_of(name.substr(0, i));
      const std::int32_t right = left < 0 ? -1 : piece_of(name.substr(i));
      if (right >= 0) {
        pairs.emplace_back(left, right);
      }
    }
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [left, right] : pairs) {
      const std::string_view first = tokens_.names[static_cast<std::size_t>(left)];
      const std::string_view second = tokens_.names[static_cast<std::size_t>(right)];
      merges_.push_back(
          {first, second, {scores_[id], character_count(first), character_count(second)}});
    }
    require(merges_.size() <= kMostMerges, keys_.at("tokens"), ": expected at most ", kMostMerges,
            " pairs of tokens that form another token, got more");
  }

  const TokenizerKeys& keys_;
  const GgufTokens& tokens_;
  std::vector<float> scores_;
  std::vector<ScoredMerge> merges_;
};

Json replace_step(std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

// Adds the steps that turn blanks into marks, and back. `prefix` puts one more mark before a text.
// The steps back also join bytes to characters.
void add_mark_steps(bool prefix, Json& root) {
  Json marks = Json::array();
  Json blanks =
      Json::array({replace_step(kMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (prefix) {
    marks.push_back({{"type", "Prepend"}, {"prepend", kMark}});
    blanks.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  marks.push_back(replace_step(" ", kMark));
  root["normalizer"] = sequence("normalizers", std::move(marks));
  root["pre_tokenizer"] = nullptr;
  root["decoder"] = sequence("decoders", std::move(blanks));
}

Json sentencepiece_json(const TokenizerKeys& keys, GgufTokens& tokens, bool gemma) {
  std::vector<float> scores = read_scores(keys, tokens);
  if (gemma) {
    respell_blanks(tokens, scores);
  }
  Json root = {{"version", "1.0"}, {"added_tokens", added_tokens(tokens)}};
  add_mark_steps(keys.flag("add_space_prefix", true), root);
  root["post_processor"] = template_of(keys, tokens, true);
  root["model"] = {{"type", "BPE"},
                   {"unk_token", tokens.names[static_cast<std::size_t>(tokens.unknown)]},
                   {"fuse_unk", true},
                   {"byte_fallback", tokens.ids.contains("<0x00>")},
                   {"vocab", vocabulary(tokens)},
                   {"merges", MergesByScore(keys, tokens, std::move(scores)).json()}};
  return root;
}

// Returns a warning about a file without a pre-tokenizer name; "" for others.
std::string warning_about(const TokenizerKeys& keys) {
  if (keys.text("pre", kDefaultPieces) != kDefaultPieces) {
    return "";
  }
  return keys.at("pre") +
         " names no pre-tokenizer: texts are split as in GPT-2, which is wrong for many other "
         "models, e.g. Llama 3; convert the model again, or use its own tokenizer.json";
}

}  // namespace

std::unique_ptr<Tokenizer> gguf_tokenizer(const GgufFile& file) {
  const TokenizerKeys keys(file);
  const std::string model = keys.text("model", "");
  const bool bytes = model == "gpt2";
  require(bytes || model == "llama", keys.at("model"), ": expected gpt2 or llama, got ",
          quoted_text(model));
  const auto* name = std::get_if<std::string>(file.find_value("general.architecture"));
  const bool gemma = name != nullptr && name->starts_with("gemma");
  GgufTokens tokens = read_tokens(keys, !bytes);
  const Json root = bytes ? bpe_json(keys, tokens) : sentencepiece_json(keys, tokens, gemma);
  const std::string end(tokens.end < 0 ? "" : tokens.names[static_cast<std::size_t>(tokens.end)]);
  auto tokenizer =
      parse_tokenizer_json(root.dump(-1, Json::BadUtf8::refused), shown(file.path()), end);
  tokenizer->set_warning(bytes ? warning_about(keys) : "");
  return tokenizer;
}

}  // namespace headlight
