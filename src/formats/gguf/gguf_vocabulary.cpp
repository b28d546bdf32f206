#include "formats/gguf/gguf_vocabulary.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>

#include "base/keyed_hash.h"
#include "base/strings/lower_case.h"
#include "base/strings/printable.h"
#include "formats/tokenizers/piece_table.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "formats/word_list.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "headlight/formats/gguf/gguf_tokenizer.h"
#include "headlight/formats/tokenizers/tokenizer_file.h"
#include "headlight/tokenizers/bpe_pattern.h"
#include "tokenizers/byte_characters.h"
#include "tokenizers/pipeline/pipeline_tokenizer.h"

namespace headlight {
namespace {

constexpr std::string_view kWholeFile = "tokenizer.huggingface.json";
constexpr std::string_view kChatTemplate = "tokenizer.chat_template";

constexpr std::string_view kCannot = "gguf: this tokenizer cannot be expressed: ";
constexpr float kScoreOfAdded = -1000;  // llama.cpp writes it but does not read it

Json step_list(const Json& root, const char* key, const char* list) {
  const Json step = root.value(key, Json());
  if (step.is_null()) {
    return Json::array();
  }
  return is_step(step, "Sequence") ? step.value(list, Json::array()) : Json::array({step});
}

// True for a step that maps bytes to characters. `cuts`: it also cuts with GPT-2's pattern.
bool is_byte_level(const Json& step, bool cuts) {
  return is_step(step, "ByteLevel") && step.value("add_prefix_space", Json(true)) == Json(false) &&
         step.value("use_regex", Json(true)) == Json(cuts);
}

bool is_split(const Json& step, std::string_view pattern) {
  return is_step(step, "Split") && step.value("invert", Json(false)) == Json(false) &&
         step.value("behavior", Json()) == Json("Isolated") &&
         step.value("pattern", Json()) == Json({{"Regex", pattern}});
}

// Returns llama.cpp's name of the pre-tokenizer; "" if it has none.
std::string name_of_pieces(const Json& root) {
  const Json steps = step_list(root, "pre_tokenizer", "pretokenizers");
  const bool whole = root["model"].value("ignore_merges", Json(false)) == Json(true);
  const bool merges_nothing = root["model"]["merges"].empty();
  if (steps.size() == 1 &&
      (is_byte_level(steps[0], true) || (merges_nothing && is_byte_level(steps[0], false)))) {
    return whole ? "" : "gpt-2";
  }
  if (steps.size() != 2 || !is_byte_level(steps[1], is_step(steps[0], "Digits"))) {
    return "";
  }
  if (is_step(steps[0], "Digits")) {
    return !whole && steps[0].value("individual_digits", Json()) == Json(true) ? "smollm" : "";
  }
  if (is_split(steps[0], kLlama3Pattern)) {
    return whole ? "llama-bpe" : "";
  }
  return !whole && is_split(steps[0], kQwen2Pattern) ? "qwen2" : "";
}

// True for no normaliser or NFC. llama.cpp never composes characters, even for models whose
// tokenizer.json has NFC.
bool has_known_normalizer(const Json& root) {
  const Json normalizer = root.value("normalizer", Json());
  return normalizer.is_null() || is_step(normalizer, "NFC");
}

// Returns merges that join the bytes of each character from left to right. Merges of different
// characters do not interfere, because no first byte is a continuation byte.
std::vector<std::string> merges_of_characters(const Tokenizer& tokenizer, Index vocab_size) {
  std::vector<std::string> merges;
  std::set<std::string> known;
  for (std::int32_t id = 0; id < std::min(tokenizer.vocab_size(), vocab_size); ++id) {
    const std::string bytes = tokenizer.token_bytes(id);
    for (std::size_t i = 1; tokenizer.special_name(id).empty() && i < bytes.size(); ++i) {
      const std::string merge = byte_name(bytes.substr(0, i)) + " " + byte_name(bytes.substr(i, 1));
      if (known.insert(merge).second) {
        merges.push_back(merge);
      }
    }
  }
  return merges;
}

std::vector<std::string> merges_of_file(const Json& root) {
  std::vector<std::string> merges;
  for (const Json& merge : root["model"]["merges"]) {
    const auto [left, right] = merge_pair(merge, "model.merges");
    merges.push_back(concat_text(left, " ", right));
  }
  return merges;
}

struct Tokens {
  std::vector<std::string> names;
  std::vector<std::int32_t> types;
};

// Returns the tokens of a model. `root` is a file from to_tokenizer_json().
Tokens tokens_of(const Tokenizer& tokenizer, const Json& root, Index vocab_size) {
  Tokens tokens;
  for (Index id = 0; id < vocab_size; ++id) {
    tokens.names.push_back("[PAD" + std::to_string(id) + "]");
    tokens.types.push_back(kUnused);
  }
  const auto set = [&](const Json& id, std::string name, std::int32_t type) {
    tokens.names.at(static_cast<std::size_t>(id.natural())) = std::move(name);
    tokens.types.at(static_cast<std::size_t>(id.natural())) = type;
  };
  const bool in_characters = tokenizer.kind() == "char";
  for (const auto& [name, id] : root["model"]["vocab"].members()) {
    set(id, in_characters ? byte_name(name) : name, kNormal);
  }
  for (const Json& token : root["added_tokens"]) {
    const bool special = token["special"] == Json(true);
    const bool unknown = tokenizer.unknown() && token["id"] == Json(*tokenizer.unknown());
    set(token["id"], token["content"].text(),
        unknown   ? kUnknown
        : special ? kControl
                  : kUserDefined);
  }
  return tokens;
}

GgufMetadata byte_level_keys(const Tokenizer& tokenizer, const Json& root, Index vocab_size) {
  const bool in_characters = tokenizer.kind() == "char";
  const std::string pieces = in_characters ? "gpt-2" : name_of_pieces(root);
  require(!pieces.empty() && has_known_normalizer(root), kCannot,
          "llama.cpp supports only SentencePiece with byte tokens, and byte-level BPE with the "
          "patterns of "
          "GPT-2, SmolLM, Llama 3 and Qwen 2");
  return {{"tokenizer.ggml.model", std::string("gpt2")},
          {"tokenizer.ggml.pre", pieces},
          {"tokenizer.ggml.add_space_prefix", false},
          {"tokenizer.ggml.merges",
           GgufArray(in_characters ? merges_of_characters(tokenizer, vocab_size)
                                   : merges_of_file(root))}};
}

// How a tokenizer turns blanks into marks.
struct MarkStyle {
  bool prefix = false;   // adds a mark before a text
  bool alone = false;    // every mark begins a new piece
  bool differs = false;  // llama.cpp adds marks in more positions
};

bool replaces_blanks(const Json& step) {
  return is_step(step, "Replace") && step.value("pattern", Json()) == Json({{"String", " "}}) &&
         step.value("content", Json()) == Json(kMark);
}

// True if the steps cut nothing: normalised text has no blanks to cut at.
bool cuts_nothing(const Json& steps) {
  return steps.empty() || (steps.size() == 1 && is_step(steps[0], "Split") &&
                           steps[0].value("pattern", Json()) == Json({{"String", " "}}));
}

std::optional<MarkStyle> style_of_metaspace(const Json& step) {
  if (!is_step(step, "Metaspace") || step.value("replacement", Json()) != Json(kMark)) {
    return std::nullopt;
  }
  const Json scheme = step.value("prepend_scheme", Json());
  const bool prefix = scheme.is_null() ? step.value("add_prefix_space", Json(true)) == Json(true)
                                       : scheme != Json("never");
  return MarkStyle{
      .prefix = prefix, .alone = step.value("split", Json(true)) == Json(true), .differs = prefix};
}

// Returns the style of a SentencePiece model with byte fallback; nothing for other tokenizers.
std::optional<MarkStyle> mark_style(const Json& root) {
  const Json& model = root["model"];
  if (model.value("byte_fallback", Json(false)) != Json(true) ||
      model.value("ignore_merges", Json(false)) == Json(true)) {
    return std::nullopt;
  }
  const Json texts = step_list(root, "normalizer", "normalizers");
  const Json pieces = step_list(root, "pre_tokenizer", "pretokenizers");
  if (texts.empty() && pieces.size() == 1) {
    return style_of_metaspace(pieces[0]);
  }
  const bool prefix = texts.size() == 2 && is_step(texts[0], "Prepend") &&
                      texts[0].value("prepend", Json()) == Json(kMark);
  const bool known = texts.size() == (prefix ? 2 : 1) && replaces_blanks(texts[texts.size() - 1]);
  return known && cuts_nothing(pieces) ? std::optional(MarkStyle{.prefix = prefix}) : std::nullopt;
}

using TokenIds = TextMap<std::size_t>;

TokenIds ids_of(const Json& vocab) {
  TokenIds ids;
  ids.reserve(vocab.size());
  for (const auto& [name, id] : vocab.members()) {
    ids.emplace(name, static_cast<std::size_t>(id.natural()));
  }
  return ids;
}

// Sets the types of the byte tokens and of the unknown token.
void set_types(const Json& model, const TokenIds& ids, Tokens& tokens) {
  for (std::size_t byte = 0; byte < 256; ++byte) {
    tokens.types.at(ids.at(byte_token(byte))) = kByte;
  }
  const Json unknown = model.value("unk_token", Json());
  if (unknown.is_string() && ids.contains(unknown.text())) {
    tokens.types.at(ids.at(unknown.text())) = kUnknown;
  }
}

// Converts merges to scores. llama.cpp merges any two tokens that make a token, the one with the
// highest score first. Throws Error for merges that scores cannot express.
class MergeScores {
 public:
  MergeScores(const Json& merges, const TokenIds& ids, const Tokens& tokens)
      : ids_(ids), tokens_(tokens) {
    pairs_.resize(tokens.names.size());
    scores_.resize(tokens.names.size(), kScoreOfAdded);
    for (const Json& merge : merges) {
      add(merge);
    }
    for (const auto& [name, id] : ids_) {
      if (tokens_.types[id] == kNormal) {
        require_all_pairs(name, id);
      }
    }
  }

  std::vector<float> take() { return std::move(scores_); }
  bool makes(std::size_t id) const { return pairs_[id] > 0; }

 private:
  void add(const Json& merge) {
    const auto [left, right] = merge_pair(merge, "model.merges");
    const std::string name = concat_text(left, right);
    const std::size_t id = ids_.at(name);
    const bool is_new = pairs_[id]++ == 0;
    if (tokens_.types[id] != kNormal) {
      return;  // an added token is found before any merge
    }
    require(is_new || id == last_, kCannot, "llama.cpp has one score for all pairs that make ",
            quoted_text(name), ", but other merges come between them");
    scores_[id] = -static_cast<float>(is_new ? made_++ : made_ - 1);
    last_ = id;
  }

  bool is_piece(std::string_view text) const {
    const auto found = ids_.find(text);
    return found != ids_.end() && (tokens_.types[found->second] == kNormal ||
                                   tokens_.types[found->second] == kUserDefined);
  }

  void require_all_pairs(std::string_view name, std::size_t id) {
    std::size_t count = 0;
    for (std::size_t i = 1; i < name.size(); ++i) {
      const bool begins = !is_utf8_continuation(name[i]);
      count += begins && is_piece(name.substr(0, i)) && is_piece(name.substr(i)) ? 1 : 0;
    }
    require(count == pairs_[id], kCannot, "llama.cpp merges ", count, " pairs of tokens into ",
            quoted_text(name), ", this tokenizer ", pairs_[id]);
    if (count == 0) {  // a single character needs no merge
      scores_[id] = -static_cast<float>(made_ + id);
    }
  }

  const TokenIds& ids_;
  const Tokens& tokens_;
  std::vector<std::size_t> pairs_;  // [V], merges that make the token
  std::vector<float> scores_;       // [V]
  std::size_t made_ = 0;
  std::size_t last_ = 0;
};

std::size_t marks_of(std::string_view name) {
  std::size_t count = 0;
  for (; name.starts_with(kMark); name.remove_prefix(kMark.size())) {
    ++count;
  }
  return name.empty() ? count : 0;
}

GgufMetadata sentencepiece_keys(const Json& model, const MarkStyle& style, Tokens& tokens) {
  const TokenIds ids = ids_of(model["vocab"]);
  set_types(model, ids, tokens);
  MergeScores scores(model["merges"], ids, tokens);
  GgufMetadata keys{{"tokenizer.ggml.model", std::string("llama")},
                    {"tokenizer.ggml.pre", std::string("default")},
                    {"tokenizer.ggml.add_space_prefix", style.prefix}};
  for (const auto& [name, id] : ids) {
    const bool crosses = scores.makes(id) && name.find(kMark, 1) != name.npos;
    require(!style.alone || !crosses, kCannot, "llama.cpp makes ", quoted_text(name),
            ", but pieces of this tokenizer begin at marks");
    // Added tokens are searched in the unchanged text, which has blanks.
    if (tokens.types[id] == kUserDefined && scores.makes(id) && marks_of(name) > 0) {
      tokens.names[id] = std::string(marks_of(name), ' ');
    }
  }
  keys.emplace_back("tokenizer.ggml.scores", GgufArray(scores.take()));
  return keys;
}

// Keys of tokens that end texts, turns, and parts of turns.
constexpr auto kEndKeys =
    std::to_array<const char*>({"eos_token_id", "eot_token_id", "eom_token_id"});

// Returns the token under a tokenizer.ggml key; nothing, as in llama.cpp, without key or token.
std::optional<std::int32_t> token_under(const GgufFile& file, const Tokenizer& tokenizer,
                                        const char* key) {
  const auto* id = std::get_if<std::uint32_t>(file.find_value(concat_text("tokenizer.ggml.", key)));
  return id != nullptr && *id < tokenizer.vocab_size()
             ? std::optional(static_cast<std::int32_t>(*id))
             : std::nullopt;
}

// Returns the chat templates: "default" under kChatTemplate, others under kChatTemplate.NAME.
ChatTemplates chat_templates(const GgufFile& file) {
  ChatTemplates templates;
  for (const auto& [key, value] : file.metadata()) {
    const auto* text = std::get_if<std::string>(&value);
    const std::string_view rest =
        std::string_view(key).substr(std::min(kChatTemplate.size(), key.size()));
    if (text != nullptr && key.starts_with(kChatTemplate) && (rest.empty() || rest[0] == '.')) {
      templates.set(rest.empty() ? ChatTemplates::kDefault : std::string(rest.substr(1)), *text);
    }
  }
  return templates;
}

// As gguf-py writes them, with a list of the names other than "default".
void add_chat_templates(const ChatTemplates& templates, GgufMetadata& keys) {
  std::vector<std::string> names;
  for (const auto& [name, source] : templates.by_name()) {
    const bool is_default = name == ChatTemplates::kDefault;
    keys.emplace_back(concat_text(kChatTemplate, is_default ? "" : "." + name), source);
    if (!is_default) {
      names.push_back(name);
    }
  }
  if (!names.empty()) {
    keys.emplace_back("tokenizer.chat_templates", GgufArray(names));
  }
}

// Sets the chat template, and the tokens that begin, end and pad texts from the file's ids.
void set_special_tokens(const GgufFile& file, Tokenizer& tokenizer) {
  const auto special = [&](const char* key) {
    const std::optional<std::int32_t> id = token_under(file, tokenizer, key);
    return id && !tokenizer.special_name(*id).empty() ? id : std::nullopt;
  };
  std::vector<std::int32_t> ends;
  for (const char* key : kEndKeys) {
    if (const auto id = token_under(file, tokenizer, key)) {
      ends.push_back(*id);
    }
  }
  tokenizer.suggest_stop_tokens(special(kEndKeys[0]), std::move(ends));
  tokenizer.suggest_begin_of_text(special("bos_token_id"));
  tokenizer.set_padding(special("padding_token_id"));
  tokenizer.set_chat_template(chat_templates(file));
}

// Words in general.name by which llama.cpp chooses a tokenizer, and the character for a blank.
constexpr auto kNamesOfTokenizers = std::to_array<std::pair<std::string_view, std::size_t>>(
    {{"phi-3", 3}, {"phi3", 3}, {"modern-bert", 6}});
constexpr std::string_view kKeepBlanksInPhi3 = "<unk> <s> <|endoftext|>";

// True if blanks disappear only behind the tokens for which they do in Phi-3's tokenizer.
bool strips_like_phi3(const Tokenizer& tokenizer) {
  const auto* pipeline = dynamic_cast<const PipelineTokenizer*>(&tokenizer);
  std::size_t needed = 0;  // tokens without which llama.cpp does not load such a file
  bool same = pipeline != nullptr;
  for (std::size_t i = 0; same && i < pipeline->added_tokens().size(); ++i) {
    const AddedToken& token = pipeline->added_tokens()[i];
    same = token.rstrip == strips_in_phi3(token.content) && !token.lstrip && !token.single_word;
    needed += token.content == "</s>" || !strips_in_phi3(token.content) ? 1 : 0;
  }
  return same && needed == 4;
}

// Returns a tokenizer.json without the tokens from id `count` on and their merges.
Json with_first_ids(Json root, Index count) {
  Json vocab = Json::object();
  for (const auto& [name, id] : root["model"]["vocab"].members()) {
    if (id.integer() < count) {
      vocab.add(name, id);
    }
  }
  const TokenIds known = ids_of(vocab);
  Json merges = Json::array();
  for (const Json& merge : root["model"]["merges"]) {
    const auto [left, right] = merge_pair(merge, "model.merges");
    if (known.contains(left) && known.contains(right) && known.contains(concat_text(left, right))) {
      merges.push_back(merge);
    }
  }
  Json added = Json::array();
  for (const Json& token : root["added_tokens"]) {
    if (token["id"].integer() < count) {
      added.push_back(token);
    }
  }
  root["model"]["vocab"] = vocab;
  root["model"]["merges"] = merges;
  root["added_tokens"] = added;
  return root;
}

std::string unknown_name(const Json& root) {
  const Json name = root["model"].value("unk_token", Json());
  return name.is_string() ? name.text() : "";
}

// Adds the ids of the tokens that begin, end and pad texts.
void add_special_keys(const Tokenizer& tokenizer, Index vocab_size, GgufVocabulary& result) {
  const auto add = [&](const char* key, std::optional<std::int32_t> id) {
    if (id && *id < vocab_size) {
      result.keys.emplace_back(concat_text("tokenizer.ggml.", key),
                               static_cast<std::uint32_t>(*id));
    }
  };
  const std::vector<std::int32_t>& ends = tokenizer.stop_tokens();
  add("bos_token_id", tokenizer.begin_token());
  for (std::size_t i = 0; i < std::min(ends.size(), kEndKeys.size()); ++i) {
    add(kEndKeys[i], ends[i]);
  }
  add("padding_token_id", tokenizer.padding());
  result.keys.emplace_back("tokenizer.ggml.add_bos_token", tokenizer.prepends_begin_token());
  const std::optional<std::int32_t> closing = tokenizer.closing_token();
  if (closing && tokenizer.prepends_begin_token()) {
    const bool is_end = !ends.empty() && *closing == ends.front();
    result.keys.emplace_back("tokenizer.ggml.add_eos_token", is_end);
    if (!is_end) {
      result.warnings.push_back(concat_text("llama.cpp does not end prompts with ",
                                            in_quotes(tokenizer.special_name(*closing))));
    }
  }
  if (ends.size() > kEndKeys.size()) {
    result.warnings.push_back(concat_text("GGUF has keys for ", kEndKeys.size(), " of the ",
                                          ends.size(), " tokens that end a text"));
  }
}

// Returns a warning about added tokens with a flag that llama.cpp does not have; "" without any.
std::string flag_warning(const Json& added, const char* flag, std::string_view instead,
                         const std::function<bool(const Json& token)>& counts) {
  std::size_t count = 0;
  std::string first;
  for (const Json& token : added) {
    if (token.value(flag, Json(false)) == Json(true) && counts(token)) {
      first = count++ == 0 ? token["content"].text() : first;
    }
  }
  return count == 0 ? ""
                    : concat_text("llama.cpp ", instead, ": ", count, " tokens with ", flag, ", ",
                                  in_quotes(first), " first, get other ids beside them");
}

// Names the steps of a tokenizer that llama.cpp does not have.
void add_differences(const Tokenizer& tokenizer, const Json& root,
                     const std::optional<MarkStyle>& marks, std::vector<std::string>& warnings) {
  const auto add = [&](bool differs, std::string_view line) {
    if (differs && !line.empty()) {
      warnings.emplace_back(line);
    }
  };
  const Json& added = root["added_tokens"];
  const auto every = [](const Json&) { return true; };
  add(is_step(root.value("normalizer", Json()), "NFC"),
      "llama.cpp does not compose characters (NFC): decomposed letters and accents get other ids");
  add(true, flag_warning(added, "lstrip", "keeps blanks before special tokens", every));
  add(!strips_like_phi3(tokenizer),
      flag_warning(added, "rstrip", "keeps blanks behind special tokens", every));
  add(true, flag_warning(added, "single_word", "finds tokens inside words", every));
  add(marks.has_value(),
      flag_warning(added, "normalized", "finds all tokens in the text as it is written",
                   [](const Json& token) { return token["special"] == Json(false); }));
  add(marks && marks->differs,
      "llama.cpp also puts a space before text that begins with one or follows a special token");
  add(tokenizer.unknown().has_value(),
      "llama.cpp drops characters without a token, for which this tokenizer has an unknown token");
  add(splits_special_tokens(tokenizer),
      "llama.cpp reads names of special tokens as tokens unless its caller says otherwise; "
      "split_special_tokens is not kept");
}

// Returns the name of the token that ends a text; "" if the file has none.
std::string end_name(const GgufFile& file) {
  const auto* number = std::get_if<std::uint32_t>(file.find_value("tokenizer.ggml.eos_token_id"));
  const auto* list = std::get_if<GgufArray>(file.find_value("tokenizer.ggml.tokens"));
  const auto* names = std::get_if<std::vector<std::string>>(list);
  return number != nullptr && names != nullptr && *number < names->size() ? (*names)[*number] : "";
}

}  // namespace

std::unique_ptr<Tokenizer> read_gguf_vocabulary(const GgufFile& file) {
  const auto* text = std::get_if<std::string>(file.find_value(kWholeFile));
  std::unique_ptr<Tokenizer> tokenizer =
      text == nullptr
          ? gguf_tokenizer(file)
          : parse_tokenizer_json(*text, concat_text(shown(file.path()), ": ", kWholeFile),
                                 end_name(file));
  set_special_tokens(file, *tokenizer);
  return tokenizer;
}

GgufVocabulary gguf_vocabulary(const Tokenizer& tokenizer, Index vocab_size) {
  require(tokenizer.kind() != "unigram", kCannot, "its model is Unigram");
  const Json file = parse_json(to_tokenizer_json(tokenizer), "tokenizer.json");
  const bool fits = tokenizer.vocab_size() <= vocab_size;
  const Json root = fits ? file : with_first_ids(file, vocab_size);
  Tokens tokens = tokens_of(tokenizer, root, vocab_size);
  const std::optional<MarkStyle> marks = mark_style(root);
  GgufVocabulary result{marks ? sentencepiece_keys(root["model"], *marks, tokens)
                              : byte_level_keys(tokenizer, root, vocab_size)};
  add_special_keys(tokenizer, vocab_size, result);
  const auto unknown = std::ranges::find(tokens.names, unknown_name(root));
  if (unknown != tokens.names.end()) {
    result.keys.emplace_back("tokenizer.ggml.unknown_token_id",
                             static_cast<std::uint32_t>(unknown - tokens.names.begin()));
  }
  result.keys.emplace_back("tokenizer.ggml.tokens", GgufArray(std::move(tokens.names)));
  result.keys.emplace_back("tokenizer.ggml.token_type", GgufArray(std::move(tokens.types)));
  add_chat_templates(tokenizer.chat_template(), result.keys);
  add_differences(tokenizer, root, marks, result.warnings);
  if (!fits) {
    result.warnings.push_back(concat_text("llama.cpp gets only the tokens with rows in the model: ",
                                          tokenizer.vocab_size() - vocab_size, " tokens from id ",
                                          vocab_size, " on are not written"));
  }
  result.keys.emplace_back(kWholeFile, file.dump(-1, Json::BadUtf8::refused));
  return result;
}

bool is_phi3_name(std::string_view name) {
  const std::string lower = lower_case(name);
  return lower.find("phi-3") != lower.npos || lower.find("phi3") != lower.npos;
}

bool strips_in_phi3(std::string_view token) { return !has_word(kKeepBlanksInPhi3, token); }

std::string gguf_model_name(std::string name, const Tokenizer& tokenizer) {
  if (strips_like_phi3(tokenizer)) {
    return is_phi3_name(name) ? name : concat_text("Phi-3", name.empty() ? "" : " ", name);
  }
  for (const auto& [word, hyphen] : kNamesOfTokenizers) {
    for (std::size_t at = 0; (at = lower_case(name).find(word)) != name.npos;) {
      name.replace(at + hyphen, word[hyphen] == '-' ? 1 : 0, " ");
    }
  }
  return name;
}

}  // namespace headlight
