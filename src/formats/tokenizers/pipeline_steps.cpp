#include "formats/tokenizers/pipeline_steps.h"

#include <utility>

#include "formats/tokenizers/tokenizer_json.h"
#include "headlight/base/choices.h"
#include "headlight/base/error.h"
#include "text/byte_characters.h"

namespace headlight {
namespace {

constexpr std::size_t kMostSteps = 16;
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

bool flag(const Json& step, std::string_view key, bool otherwise, const std::string& where) {
  return json_flag(step, key, otherwise, where + ".");
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

// Reads a step whose pattern is {"String": TEXT}.
NormalizerStep read_replace(const Json& step, const std::string& where) {
  const Json& pattern = json_member(step, "pattern", where);
  require(pattern.is_object() && pattern.contains("String"), where,
          ".pattern: expected a String, got ", quoted_text(pattern.dump()));
  NormalizerStep result{NormalizerStep::Kind::replace,
                        short_text(pattern, "String", where + ".pattern"),
                        short_text(step, "content", where)};
  require(!result.from.empty(), where, ".pattern: expected a text that is not empty");
  return result;
}

NormalizerStep read_normalizer_step(const Json& step, const std::string& where) {
  const std::string type = json_string(step, "type", where);
  if (type == "NFC") {
    return {NormalizerStep::Kind::nfc};
  }
  if (type == "Prepend") {
    return {NormalizerStep::Kind::prepend, "", short_text(step, "prepend", where)};
  }
  if (type == "Replace") {
    return read_replace(step, where);
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
    result.steps.push_back({.kind = PreTokenizerStep::Kind::digits,
                            .individual = flag(step, "individual_digits", false, where)});
  } else if (type == "Metaspace") {
    result.steps.push_back(read_metaspace(step, where));
  } else {
    fail_step(where, type);
  }
}

// True for names of byte tokens, like <0x41>.
bool is_byte_name(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789ABCDEFabcdef";
  return name.size() == 6 && name.starts_with("<0x") && name.ends_with('>') &&
         kDigits.find(name[3]) != std::string_view::npos &&
         kDigits.find(name[4]) != std::string_view::npos;
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
    result.text_start = TextStart::blank_gone;
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
    result.text_start = TextStart::marks_gone;
    result.start_mark = step.mark;
  }
  return result;
}

// Returns the special token of the template's "single" sequence, if it has one.
std::optional<std::string> read_template(const Json& step, const std::string& where) {
  const Json& single = json_member(step, "single", where);
  const bool known = single.is_array() && (single.size() == 1 || single.size() == 2) &&
                     single[single.size() - 1].is_object() &&
                     single[single.size() - 1].contains("Sequence") &&
                     single[single.size() - 1]["Sequence"].value("id", Json()) == Json("A");
  require(known, where, ".single: expected the text, optionally after one special token, got ",
          quoted_text(single.dump()));
  if (single.size() == 1) {
    return std::nullopt;
  }
  return json_string(json_member(single[0], "SpecialToken", where + ".single"), "id",
                     where + ".single");
}

}  // namespace

Normalizer read_normalizer(const Json& json, const std::string& where) {
  std::vector<NormalizerStep> steps;
  for (const Json* step : steps_of(json, "normalizers", where)) {
    steps.push_back(read_normalizer_step(*step, where));
  }
  return Normalizer(std::move(steps));
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
  std::string text = name;
  for (const NormalizerStep& step : replaced) {
    text = headlight::replaced(text, step.from, step.to);
  }
  if (byte_fallback && is_byte_name(text)) {
    return std::string(1, static_cast<char>(std::stoi(text.substr(3, 2), nullptr, 16)));
  }
  return text;
}

std::optional<std::string> read_first_token(const Json& json, const std::string& where) {
  std::optional<std::string> first;
  for (const Json* step : steps_of(json, "processors", where)) {
    const std::string type = json_string(*step, "type", where);
    if (type == "TemplateProcessing") {
      require(!first, where, ": expected one template with a special token");
      first = read_template(*step, where);
    } else if (type != "ByteLevel") {  // ByteLevel changes only offsets
      fail_step(where, type);
    }
  }
  return first;
}

}  // namespace headlight
