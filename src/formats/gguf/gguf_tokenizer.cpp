#include "headlight/formats/gguf/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "base/strings/printable.h"
#include "formats/gguf/gguf_vocabulary.h"
#include "formats/tokenizers/piece_table.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "formats/word_list.h"
#include "headlight/base/choices.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/formats/tokenizers/tokenizer_file.h"
#include "headlight/tokenizers/bpe_pattern.h"

namespace headlight {
namespace {

// How byte-level BPE cuts texts into pieces for a name under tokenizer.ggml.pre. It matches the
// tokenizer.json of the models with that name.
struct GgufPreTokenizer {
  std::string_view names;  // separated by blanks
  // Each pattern cuts the pieces of the patterns before. Empty: GPT-2's pattern.
  std::span<const std::string_view> patterns = {};
  bool digits = false;  // cuts off each digit before GPT-2's pattern
  bool nfc = false;     // composes characters (NFC) first
  bool whole = false;   // takes pieces that are tokens whole, whatever the merges
  bool begins = false;  // texts begin with a token, unless the file says otherwise
};

// The name for an unknown pre-tokenizer, also used if the key is missing.
constexpr std::string_view kDefaultPieces = "default";

using Pattern = std::string_view;

constexpr std::array kLlama3{kLlama3Pattern};
constexpr std::array kQwen2{kQwen2Pattern};
// Words include combining marks.
constexpr std::array kQwen35{Pattern(
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)")};
// Mistral Nemo: words begin at capital letters.
constexpr std::array kTekken{Pattern(
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)")};
constexpr std::array kGpt4o{Pattern(
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)")};
constexpr std::array kDeepSeekCoder{Pattern(R"([\r\n])"), Pattern(R"(\s?\p{L}+)"),
                                    Pattern(R"(\s?\p{P}+)"), Pattern("[一-龥\u0800-一가-\uD7FF]+"),
                                    Pattern(R"(\p{N})")};
constexpr std::array kDeepSeekV3{
    Pattern(R"(\p{N}{1,3})"), Pattern("[一-龥\u3040-ゟ゠-ヿ]+"),
    Pattern(
        R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)")};
constexpr std::array kSeedCoder{Pattern(
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)")};
constexpr std::array kBailing{Pattern(
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)")};
constexpr std::array kMiniCpm5{
    Pattern(R"(\p{N}{1,3})"),
    Pattern(
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)")};
constexpr std::array kLaguna{Pattern(R"([^\n]+|[\n]+)"), kQwen2Pattern};
constexpr std::array kBloom{Pattern(R"( ?[^(\s|.,!?…。，、।۔،)]+)")};
constexpr std::array kViking{kBloom[0], Pattern(R"(\p{N})")};

// The names in llama-vocab.cpp of llama.cpp, except for patterns that are not linear (falcon,
// jais-2, exaone-moe, tiny_aya, superbpe) or not regular expressions (kimi-k2, afmoe), and for
// models of other kinds.
constexpr std::array kPieces{
    GgufPreTokenizer{kDefaultPieces},
    GgufPreTokenizer{"gpt-2 phi-2 jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code "
                     "roberta-bpe gigachat a.x-4.0 mellum exaone4 jais trillion granite-docling"},
    GgufPreTokenizer{.names = "olmo mpt modern-bert", .nfc = true},
    GgufPreTokenizer{.names = "smollm starcoder refact codeshell exaone minerva-7b mellum2",
                     .digits = true},
    GgufPreTokenizer{.names = "command-r", .digits = true, .nfc = true},
    GgufPreTokenizer{.names = "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 "
                              "jina-v5-nano",
                     .patterns = kLlama3,
                     .whole = true,
                     .begins = true},
    GgufPreTokenizer{"smaug-bpe dbrx glm4 chatglm-bpe", kLlama3},
    GgufPreTokenizer{
        .names = "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez", .patterns = kQwen2, .nfc = true},
    GgufPreTokenizer{"stablelm2 hunyuan solar-open grok-2", kQwen2},
    GgufPreTokenizer{.names = "qwen35", .patterns = kQwen35, .nfc = true},
    GgufPreTokenizer{.names = "tekken", .patterns = kTekken, .whole = true, .begins = true},
    GgufPreTokenizer{"gpt-4o llama4 kanana2 talkie minimax-m2", kGpt4o},
    GgufPreTokenizer{"deepseek-coder", kDeepSeekCoder},
    GgufPreTokenizer{"deepseek-v3 hunyuan-dense joyai-llm", kDeepSeekV3},
    GgufPreTokenizer{"seed-coder", kSeedCoder},
    GgufPreTokenizer{"bailingmoe bailingmoe2 llada-moe", kBailing},
    GgufPreTokenizer{.names = "minicpm5", .patterns = kMiniCpm5, .whole = true},
    GgufPreTokenizer{"laguna", kLaguna},
    GgufPreTokenizer{"poro-chat bloom gpt3-finnish", kBloom},
    GgufPreTokenizer{"viking", kViking},
};

// Returns the pieces for a name. Throws Error, "ABOUT: expected NAMES, got ...", if it is unknown.
const GgufPreTokenizer& gguf_pre_tokenizer(std::string_view about, std::string_view name) {
  std::vector<std::string_view> known;
  for (const GgufPreTokenizer& pieces : kPieces) {
    for (const std::string_view word : words_of(pieces.names)) {
      if (word == name) {
        return pieces;
      }
      known.push_back(word);
    }
  }
  fail_choice(about, known, name);
}

constexpr std::size_t kMostBytes = std::size_t{1} << 25;  // of merges
constexpr std::size_t kMostMerges = std::size_t{1} << 20;

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

  std::string text(std::string_view key, std::string_view fallback) const {
    const auto* value = find<std::string>(key, "a text");
    return value == nullptr ? std::string(fallback) : *value;
  }
  bool flag(std::string_view key, bool fallback) const {
    const bool* value = find<bool>(key, "true or false");
    return value == nullptr ? fallback : *value;
  }

 private:
  const GgufFile& file_;
};

void read_names(const TokenizerKeys& keys, PieceTable& tokens) {
  const auto* names = keys.find_list<std::string>("tokens", "a list of texts");
  const std::string where = keys.at("tokens");
  require(names != nullptr, where, ": is missing");
  set_names({names->begin(), names->end()}, where, tokens);
}

// Returns the id under a key. Without the key, returns `fallback`, or -1 if it is no token's id.
std::int32_t read_id(const TokenizerKeys& keys, const PieceTable& tokens, std::string_view key,
                     std::int32_t fallback) {
  const auto count = static_cast<std::int64_t>(tokens.names.size());
  const auto* id = keys.find<std::uint32_t>(key, "a uint32");
  if (id == nullptr) {
    return fallback < count ? fallback : -1;
  }
  require(*id < count, keys.at(key), ": expected 0 to ", count - 1, ", got ", *id);
  return static_cast<std::int32_t>(*id);
}

template <class T>
std::vector<T> list_of_all(const TokenizerKeys& keys, const PieceTable& tokens,
                           std::string_view key, std::string_view expected) {
  const auto* values = keys.find_list<T>(key, expected);
  require(values == nullptr || values->size() == tokens.names.size(), keys.at(key), ": expected ",
          tokens.names.size(), " values, one for each token, got ",
          values == nullptr ? 0 : values->size());
  return values == nullptr ? std::vector<T>() : *values;
}

// Reads the tokens. By default, SentencePiece's models begin with <unk>, <s> and </s>.
PieceTable read_tokens(const TokenizerKeys& keys, bool sentencepiece) {
  PieceTable tokens;
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
void respell_blanks(PieceTable& tokens, std::vector<float>& scores) {
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

// Returns the step that puts the begin token before a text and the end token behind it, or null.
Json template_of(const TokenizerKeys& keys, const PieceTable& tokens, bool fallback) {
  if (!keys.flag("add_bos_token", fallback)) {
    return nullptr;
  }
  require(tokens.begin >= 0, keys.at("bos_token_id"),
          ": is missing, but texts must begin with this token");
  const NamedId end{tokens.name_of(tokens.end), tokens.end};
  const bool has_end = keys.flag("add_eos_token", false) && tokens.end >= 0;
  return template_json({tokens.name_of(tokens.begin), tokens.begin},
                       has_end ? std::optional(end) : std::nullopt);
}

// Returns the tokens that are found in the text before any other step, as llama.cpp reads them.
Json added_tokens_of(const PieceTable& tokens, std::string_view model_name) {
  Json::List added = added_pieces_json(tokens).list();
  for (Json& token : added) {
    token["rstrip"] = is_phi3_name(model_name) && strips_in_phi3(token["content"].text());
  }
  return added;
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
  return sequence_json("pretokenizers", std::move(steps));
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

Json bpe_json(const TokenizerKeys& keys, const PieceTable& tokens, const std::string& name) {
  const GgufPreTokenizer& pieces =
      gguf_pre_tokenizer(keys.at("pre"), keys.text("pre", kDefaultPieces));
  Json root = {{"version", "1.0"}, {"added_tokens", added_tokens_of(tokens, name)}};
  root["normalizer"] = pieces.nfc ? Json({{"type", "NFC"}}) : Json();
  root["pre_tokenizer"] = pre_tokenizer(pieces);
  root["post_processor"] = template_of(keys, tokens, pieces.begins);
  root["decoder"] = byte_level_json(true);
  root["model"] = {
      {"type", "BPE"},
      {"unk_token", tokens.unknown < 0 ? Json() : Json(tokens.name_of(tokens.unknown))},
      {"ignore_merges", pieces.whole},
      {"vocab", piece_ids_json(tokens)},
      {"merges", written_merges(keys)}};
  return root;
}

std::vector<float> read_scores(const TokenizerKeys& keys, const PieceTable& tokens) {
  std::vector<float> scores = list_of_all<float>(keys, tokens, "scores", "a list of float32");
  require(!scores.empty(), keys.at("scores"), ": is missing");
  for (std::size_t id = 0; id < scores.size(); ++id) {
    require(std::isfinite(scores[id]), keys.at("scores"), ": token ", id,
            ": expected a finite number");
  }
  return scores;
}

// Adds the steps that turn blanks into marks, and back. `prefix` puts one more mark before a text.
void add_mark_steps(bool prefix, Json& root) {
  Json marks = Json::array();
  if (prefix) {
    marks.push_back({{"type", "Prepend"}, {"prepend", kMark}});
  }
  marks.push_back(replace_json(" ", kMark));
  root["normalizer"] = sequence_json("normalizers", std::move(marks));
  root["pre_tokenizer"] = nullptr;
  root["decoder"] = mark_decoder_json(prefix);
}

Json sentencepiece_json(const TokenizerKeys& keys, PieceTable& tokens, const std::string& name,
                        bool gemma) {
  std::vector<float> scores = read_scores(keys, tokens);
  if (gemma) {
    respell_blanks(tokens, scores);
  }
  Json root = {{"version", "1.0"}, {"added_tokens", added_tokens_of(tokens, name)}};
  add_mark_steps(keys.flag("add_space_prefix", true), root);
  root["post_processor"] = template_of(keys, tokens, true);
  root["model"] = {{"type", "BPE"},
                   {"unk_token", tokens.name_of(tokens.unknown)},
                   {"fuse_unk", true},
                   {"byte_fallback", tokens.ids.contains("<0x00>")},
                   {"vocab", piece_ids_json(tokens)},
                   {"merges", piece_merges_json(tokens, scores, keys.at("tokens"))}};
  return root;
}

// Returns a warning about a file whose ids may differ from llama.cpp's or from its model's;
// "" for others.
std::string warning_about(const TokenizerKeys& keys, const Json& root, bool bytes) {
  if (is_null(root, "post_processor") && keys.flag("add_eos_token", false)) {
    return keys.at("add_eos_token") + " is supported only with add_bos_token: no token ends texts";
  }
  if (!bytes || keys.text("pre", kDefaultPieces) != kDefaultPieces) {
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
  const auto text = [&](const char* key) {
    const auto* value = std::get_if<std::string>(file.find_value(key));
    return value == nullptr ? std::string() : *value;
  };
  const std::string name = text("general.name");
  const bool gemma = text("general.architecture").starts_with("gemma");
  PieceTable tokens = read_tokens(keys, !bytes);
  const Json root =
      bytes ? bpe_json(keys, tokens, name) : sentencepiece_json(keys, tokens, name, gemma);
  auto tokenizer = parse_tokenizer_json(root.dump(-1, Json::BadUtf8::refused), shown(file.path()),
                                        tokens.name_of(tokens.end));
  tokenizer->set_warning(warning_about(keys, root, bytes));
  return tokenizer;
}

}  // namespace headlight
