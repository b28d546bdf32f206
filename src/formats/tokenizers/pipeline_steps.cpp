#include "formats/tokenizers/pipeline_steps.h"

#include <memory>
#include <span>
#include <utility>

#include "base/strings/base64.h"
#include "formats/tokenizers/piece_table.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "headlight/base/choices.h"
#include "headlight/base/error.h"
#include "tokenizers/byte_characters.h"

namespace headlight {
namespace {

constexpr std::size_t kMostSteps = 16;
constexpr const char* kOwnSteps = "sentencepiece";
constexpr const char* kCharsmap = "precompiled_charsmap";
// Characters with their marks: grapheme clusters, as far as they matter in less than 6 bytes.
constexpr std::string_view kCharacters =
    R"(\r\n|[^\p{Cc}\p{Cf}\p{M}\p{Zl}\p{Zp}][\p{M}\x{200C}\x{200D}]*|[\s\S])";
constexpr std::string_view kWordRuns = R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]+|)"
                                       R"([^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}\s]+)";
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Appends the steps of `json` to `steps`; sequences are flattened.
void collect_steps(const Json& json, std::string_view list_key, const std::string& where,
                   std::vector<const Json*>& steps) {
  if (json.is_null()) {
    return;
  }
  if (json_string(json, "type", where) != "Sequence") {
    steps.push_back(&json);
    require(steps.size() <= kMostSteps, where, ": expected at most ", kMostSteps, " steps");
    return;
  }
  const Json& list = json_member(json, list_key, where);
  require(list.is_array(), where, ".", list_key, ": expected an array, got ", list.type_name());
  for (const Json& step : list) {
    collect_steps(step, list_key, where, steps);
  }
}

std::vector<const Json*> steps_of(const Json& json, std::string_view list_key,
                                  const std::string& where) {
  std::vector<const Json*> steps;
  collect_steps(json, list_key, where, steps);
  return steps;
}

bool flag(const Json& step, std::string_view key, bool fallback, const std::string& where) {
  return json_flag(step, key, fallback, where + ".");
}

std::string short_text(const Json& step, std::string_view key, const std::string& where) {
  std::string text = json_string(step, key, where);
  require(text.size() <= Normalizer::kLongestText, where, ".", key, ": expected at most ",
          Normalizer::kLongestText, " bytes, got ", text.size());
  return text;
}

[[noreturn]] void fail_step(const std::string& where, std::string_view type) {
  fail(where, ": type ", quoted_text(type), " is not supported");
}

// Reads a step whose pattern is {"String": TEXT} or, if `takes_regex`, {"Regex": EXPRESSION}.
NormalizerStep read_replace(const Json& step, const std::string& where, bool takes_regex = false) {
  const Json& pattern = json_member(step, "pattern", where);
  if (takes_regex && pattern.is_object() && pattern.contains("Regex")) {
    const std::string key = where + ".pattern";
    return {.kind = NormalizerStep::Kind::replace,
            .to = short_text(step, "content", where),
            .regex = Regex(json_string(pattern, "Regex", key), key)};
  }
  require(pattern.is_object() && pattern.contains("String"), where,
          ".pattern: expected a String, got ", quoted_text(pattern.dump()));
  NormalizerStep result{NormalizerStep::Kind::replace,
                        short_text(pattern, "String", where + ".pattern"),
                        short_text(step, "content", where)};
  require(!result.from.empty(), where, ".pattern: expected a text that is not empty");
  return result;
}

// Reads the rules of a step Precompiled.
Charsmap read_charsmap(const Json& step, const std::string& where) {
  const std::string key = concat_text(where, ".", kCharsmap);
  const auto bytes = bytes_of_base64(json_string(step, kCharsmap, where));
  require(bytes.has_value(), key, ": expected base64");
  return Charsmap(*bytes, key);
}

NormalizerStep read_normalizer_step(const Json& step, const std::string& where) {
  const std::string type = json_string(step, "type", where);
  if (type == "NFC") {
    return {NormalizerStep::Kind::nfc};
  }
  if (type == "BertNormalizer") {
    const bool lower = flag(step, "lowercase", true, where);
    return {.kind = NormalizerStep::Kind::bert,
            .bert = {.clean = flag(step, "clean_text", true, where),
                     .ideographs = flag(step, "handle_chinese_chars", true, where),
                     .accents = is_null(step, "strip_accents")
                                    ? lower
                                    : flag(step, "strip_accents", lower, where),
                     .lower = lower}};
  }
  if (type == "Lowercase") {
    return {.kind = NormalizerStep::Kind::bert,
            .bert = {.clean = false, .ideographs = false, .accents = false}};
  }
  if (type == "Prepend") {
    return {NormalizerStep::Kind::prepend, "", short_text(step, "prepend", where)};
  }
  if (type == "Replace") {
    return read_replace(step, where, true);
  }
  if (type == "Strip") {
    return {.kind = NormalizerStep::Kind::strip,
            .left = flag(step, "strip_left", true, where),
            .right = flag(step, "strip_right", true, where)};
  }
  if (type == "Precompiled") {
    return {.kind = NormalizerStep::Kind::charsmap,
            .regex = Regex(kCharacters, where),
            .rules = read_charsmap(step, where)};
  }
  fail_step(where, type);
}

SplitPattern pattern_of(const std::string& regex, const std::string& where) {
  SplitPattern pattern{.known = known_piece_pattern(regex)};
  if (pattern.known == nullptr) {
    pattern.regex.emplace(regex, where);
  }
  return pattern;
}

PreTokenizerStep read_split(const Json& step, const std::string& where) {
  const Json& pattern = json_member(step, "pattern", where);
  PreTokenizerStep result;
  const std::string key = where + ".pattern";
  if (pattern.is_object() && pattern.contains("Regex")) {
    result.pattern = pattern_of(json_string(pattern, "Regex", key), key);
  } else {
    result.pattern.text = json_string(pattern, "String", key);
    require(!result.pattern.text.empty(), key, ": expected a text that is not empty");
  }
  result.behavior =
      parse_name<SplitBehavior>(where + ".behavior", json_string(step, "behavior", where));
  result.invert = flag(step, "invert", false, where);
  return result;
}

PreTokenizerStep read_metaspace(const Json& step, const std::string& where) {
  PreTokenizerStep result{.kind = PreTokenizerStep::Kind::metaspace};
  result.mark = short_text(step, "replacement", where);
  require(!result.mark.empty(), where, ".replacement: expected a character");
  if (is_null(step, "prepend_scheme")) {
    const bool prepends = flag(step, "add_prefix_space", true, where);
    result.scheme = prepends ? PrependScheme::always : PrependScheme::never;
  } else {
    result.scheme = parse_name<PrependScheme>(where + ".prepend_scheme",
                                              json_string(step, "prepend_scheme", where));
  }
  result.cuts = flag(step, "split", true, where);
  return result;
}

void read_byte_level(const Json& step, const std::string& where, PreTokenizerSteps& result) {
  result.byte_level = true;
  if (flag(step, "add_prefix_space", true, where)) {
    result.steps.push_back({.kind = PreTokenizerStep::Kind::prefix});
  }
  if (flag(step, "use_regex", true, where)) {
    result.steps.push_back({.pattern = pattern_of(std::string(kGpt2Pattern), where)});
  }
}

void read_pre_tokenizer_step(const Json& step, const std::string& where,
                             PreTokenizerSteps& result) {
  const std::string type = json_string(step, "type", where);
  require(!result.byte_level, where, ": ", quoted_text(type), " after ByteLevel is not supported");
  if (type == "ByteLevel") {
    read_byte_level(step, where, result);
  } else if (type == "Split") {
    result.steps.push_back(read_split(step, where));
  } else if (type == "Digits") {
    const bool individual = flag(step, "individual_digits", false, where);
    result.steps.push_back(
        {.kind = PreTokenizerStep::Kind::digits,
         .behavior = individual ? SplitBehavior::isolated : SplitBehavior::contiguous});
  } else if (type == "BertPreTokenizer" || type == "WhitespaceSplit") {
    result.steps.push_back(
        {.kind = PreTokenizerStep::Kind::bert, .individual = type == "BertPreTokenizer"});
  } else if (type == "Whitespace") {
    result.steps.push_back({.pattern = pattern_of(std::string(kWordRuns), where),
                            .behavior = SplitBehavior::removed,
                            .invert = true});
  } else if (type == "Punctuation") {
    const std::string behavior =
        step.contains("behavior") ? json_string(step, "behavior", where) : "Isolated";
    result.steps.push_back({.kind = PreTokenizerStep::Kind::punctuation,
                            .behavior = parse_name<SplitBehavior>(where + ".behavior", behavior)});
  } else if (type == "Metaspace") {
    result.steps.push_back(read_metaspace(step, where));
  } else {
    fail_step(where, type);
  }
}

// Reads a step that strips one blank at the start of the whole text.
void read_strip(const Json& step, const std::string& where, DecoderSteps& result) {
  const Json start = step.value("start", Json(0));
  const bool known = step.value("content", Json()) == Json(" ") &&
                     step.value("stop", Json(0)) == Json(0) &&
                     (start == Json(0) || start == Json(1));
  require(known, where, ": Strip: expected content \" \", start 0 or 1 and stop 0, got ",
          quoted_text(step.dump()));
  if (start == Json(1)) {
    result.text_start = TextStart::blank_removed;
  }
}

// Stage of decoding, in order: single tokens, bytes, joined text, stripped text.
enum class DecoderStage { tokens, bytes, joined, stripped };

void read_decoder_step(const Json& step, const std::string& where, DecoderStage& stage,
                       DecoderSteps& result) {
  const std::string type = json_string(step, "type", where);
  const auto enter = [&](DecoderStage allowed, DecoderStage next) {
    require(stage <= allowed, where, ": ", type, " is not supported at this position");
    stage = next;
  };
  if (type == "Replace") {
    enter(DecoderStage::tokens, DecoderStage::tokens);
    result.replaced.push_back(read_replace(step, where));
  } else if (type == "ByteFallback") {
    enter(DecoderStage::tokens, DecoderStage::bytes);
    result.byte_fallback = true;
  } else if (type == "Fuse") {
    enter(DecoderStage::joined, DecoderStage::joined);
  } else if (type == "Strip" && stage == DecoderStage::joined) {
    enter(DecoderStage::joined, DecoderStage::stripped);
    read_strip(step, where, result);
  } else {
    fail_step(where, type);
  }
}

DecoderSteps read_metaspace_decoder(const Json& json, const std::string& where) {
  const PreTokenizerStep step = read_metaspace(json, where);
  DecoderSteps result;
  result.replaced.push_back({NormalizerStep::Kind::replace, step.mark, " "});
  if (step.scheme != PrependScheme::never) {
    result.text_start = TextStart::marks_removed;
    result.start_mark = step.mark;
  }
  return result;
}

// Removes the blank before punctuation and contractions, as transformers' clean_up_tokenization.
std::string without_blanks_before_marks(std::string text) {
  for (const std::string_view mark : {".", "?", "!", ",", " ' ", "n't", "'m", "'s", "'ve", "'re"}) {
    const bool is_apostrophe = mark == " ' ";
    text =
        replaced(text, is_apostrophe ? mark : " " + std::string(mark), is_apostrophe ? "'" : mark);
  }
  return replaced(text, " do not", " don't");
}

// Reads the decoder of WordPiece: continuations lose their mark, other tokens get a blank.
DecoderSteps read_word_piece_decoder(const Json& json, const std::string& where) {
  return {.text_start = TextStart::blank_removed,
          .continuation = short_text(json, "prefix", where),
          .cleans_up = flag(json, "cleanup", true, where)};
}

// Returns the special tokens of the template's "single" sequence, if it has any.
TextEnds read_template(const Json& step, const std::string& where) {
  const Json& single = json_member(step, "single", where);
  const auto is_text = [](const Json& item) {
    return item.is_object() && item.contains("Sequence") &&
           item["Sequence"].value("id", Json()) == Json("A");
  };
  const std::size_t count = single.is_array() ? single.size() : 0;
  const std::size_t text = count > 1 && !is_text(single[0]) ? 1 : 0;
  const bool known = count >= 1 && count <= text + 2 && is_text(single[text]);
  require(known, where,
          ".single: expected the text, optionally after one special token and before ",
          "another, got ", quoted_text(single.dump()));
  const auto end_at = [&](std::size_t index) {
    const std::string name = json_string(
        json_member(single[index], "SpecialToken", where + ".single"), "id", where + ".single");
    const Json& special =
        json_member(json_member(step, "special_tokens", where), name, where + ".special_tokens");
    return TextEnd{name, json_member(special, "ids", where + ".special_tokens")};
  };
  TextEnds ends;
  if (text == 1) {
    ends.first = end_at(0);
  }
  if (count == text + 2) {
    ends.last = end_at(text + 1);
  }
  return ends;
}

// Reads BertProcessing or RobertaProcessing: [TEXT, ID] for the tokens before and after a text.
TextEnds read_bert_processing(const Json& step, const std::string& where) {
  const auto end_under = [&](const char* key) {
    const Json& pair = json_member(step, key, where);
    require(pair.is_array() && pair.size() == 2 && pair[0].is_string(), where, ".", key,
            ": expected [TOKEN, ID], got ", quoted_text(pair.dump()));
    return TextEnd{pair[0].text(), Json::array({pair[1]})};
  };
  return {end_under("cls"), end_under("sep")};
}

// Returns the texts in an optional list; none is empty.
std::set<std::string, std::less<>> texts_in(const Json& object, std::string_view key,
                                            const std::string& where) {
  std::set<std::string, std::less<>> texts;
  const Json list = object.value(key, Json::array());
  require(list.is_array(), where, ".", key, ": expected an array, got ", list.type_name());
  for (const Json& entry : list) {
    const bool good = entry.is_string() && !entry.text().empty();
    require(good, where, ".", key, ": expected texts that are not empty");
    texts.insert(entry.text());
  }
  return texts;
}

// Returns the rules of the step Precompiled; none without it.
Charsmap charsmap_in(const Json& normalizer, const std::string& where) {
  for (const Json* step : steps_of(normalizer, "normalizers", where)) {
    if (is_step(*step, "Precompiled")) {
      return read_charsmap(*step, where);
    }
  }
  return {};
}

}  // namespace

Normalizer read_normalizer(const Json& json, const std::string& where) {
  std::vector<NormalizerStep> steps;
  for (const Json* step : steps_of(json, "normalizers", where)) {
    steps.push_back(read_normalizer_step(*step, where));
  }
  return Normalizer(std::move(steps));
}

std::optional<SentencePieceSteps> read_sentencepiece(const Json& normalizer,
                                                     const std::string& where) {
  const Json own = normalizer.is_object() ? normalizer.value(kOwnSteps, Json()) : Json();
  if (own.is_null()) {
    return std::nullopt;
  }
  const std::string key = concat_text(where, ".", kOwnSteps);
  require(own.is_object(), key, ": expected an object, got ", own.type_name());
  SentencePieceSteps result;
  result.user_defined = texts_in(own, "user_defined", key);
  result.unused = texts_in(own, "unused", key);
  SentencePieceNormalizer::Options options{
      .rules = charsmap_in(normalizer, where),
      .kept = {result.user_defined.begin(), result.user_defined.end()},
      .prefix = flag(own, "prefix", true, key),
      .single_blanks = flag(own, "single_blanks", true, key)};
  result.normalizer = Normalizer(
      {{.kind = NormalizerStep::Kind::sentencepiece,
        .sentencepiece = std::make_shared<SentencePieceNormalizer>(std::move(options))}});
  return result;
}

Json sentencepiece_normalizer_json(const SentencePieceNormalizerJson& from) {
  Json steps = Json::array();
  if (!from.charsmap.empty()) {
    const std::span bytes(from.charsmap.data(), from.charsmap.size());
    steps.push_back({{"type", "Precompiled"}, {kCharsmap, base64_of(std::as_bytes(bytes))}});
  }
  if (from.single_blanks) {
    steps.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
    steps.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
  }
  if (from.prefix) {
    steps.push_back({{"type", "Prepend"}, {"prepend", kMark}});
  }
  steps.push_back(replace_json(" ", kMark));
  Json result = sequence_json("normalizers", std::move(steps));
  result[kOwnSteps] = {{"prefix", from.prefix},
                       {"single_blanks", from.single_blanks},
                       {"user_defined", from.user_defined},
                       {"unused", from.unused}};
  return result;
}

PreTokenizerSteps read_pre_tokenizer(const Json& json, const std::string& where) {
  PreTokenizerSteps result;
  for (const Json* step : steps_of(json, "pretokenizers", where)) {
    read_pre_tokenizer_step(*step, where, result);
  }
  return result;
}

DecoderSteps read_decoder(const Json& json, const std::string& where) {
  const std::vector<const Json*> steps = steps_of(json, "decoders", where);
  require(!steps.empty(), where, ": expected a step that joins tokens to text");
  const std::string type = json_string(*steps.front(), "type", where);
  if (steps.size() == 1 && type == "Metaspace") {
    return read_metaspace_decoder(*steps.front(), where);
  }
  if (steps.size() == 1 && type == "WordPiece") {
    return read_word_piece_decoder(*steps.front(), where);
  }
  if (steps.size() == 1 && type == "ByteLevel") {
    return {.byte_level = true};
  }
  DecoderSteps result;
  DecoderStage stage = DecoderStage::tokens;
  for (const Json* step : steps) {
    read_decoder_step(*step, where, stage, result);
  }
  return result;
}

std::string DecoderSteps::bytes_of(const std::string& name) const {
  if (byte_level) {
    return bytes_of_name(name).value_or(name);
  }
  if (!continuation.empty()) {
    const bool continues = name.starts_with(continuation);
    const std::string word = continues ? name.substr(continuation.size()) : " " + name;
    return cleans_up ? without_blanks_before_marks(word) : word;
  }
  std::string text = name;
  for (const NormalizerStep& step : replaced) {
    text = headlight::replaced(text, step.from, step.to);
  }
  if (byte_fallback && is_byte_token(text)) {
    return std::string(1, static_cast<char>(std::stoi(text.substr(3, 2), nullptr, 16)));
  }
  return text;
}

TextEnds read_text_ends(const Json& json, const std::string& where) {
  TextEnds ends;
  for (const Json* step : steps_of(json, "processors", where)) {
    const std::string type = json_string(*step, "type", where);
    if (type == "ByteLevel") {
      continue;  // changes only offsets
    }
    const bool is_template = type == "TemplateProcessing";
    if (!is_template && type != "BertProcessing" && type != "RobertaProcessing") {
      fail_step(where, type);
    }
    require(!ends.first && !ends.last, where, ": expected one template with a special token");
    ends = is_template ? read_template(*step, where) : read_bert_processing(*step, where);
  }
  return ends;
}

}  // namespace headlight
