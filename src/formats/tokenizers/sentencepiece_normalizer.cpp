#include "formats/tokenizers/sentencepiece_normalizer.h"

#include <utility>

#include "formats/tokenizers/tokenizer_json.h"
#include "headlight/base/utf8.h"

namespace headlight {

SentencePieceNormalizer::SentencePieceNormalizer(Options options) : options_(std::move(options)) {
  for (const std::string& text : options_.kept) {
    kept_.add(text, 0);
  }
}

SentencePieceNormalizer::Part SentencePieceNormalizer::first_part(std::string_view text) const {
  if (const std::size_t kept = kept_.longest_start(text); kept > 0) {
    return {text.substr(0, kept), kept};
  }
  const Charsmap::Rule rule = options_.rules.longest_rule(text);
  if (rule.length > 0) {
    return {rule.replacement, rule.length};
  }
  const Utf8Character character = first_character(text);
  const auto length = static_cast<std::size_t>(character.length);
  return character.valid ? Part{text.substr(0, length), length} : Part{kReplacementCharacter, 1};
}

void SentencePieceNormalizer::append(std::string_view text, std::string& result) const {
  for (const char c : text) {
    c == ' ' ? result.append(kMark) : result.append(1, c);
  }
}

std::string SentencePieceNormalizer::apply(std::string_view text) const {
  const bool single = options_.single_blanks;
  while (single && !text.empty()) {
    const Part part = first_part(text);
    if (part.text != " ") {
      break;
    }
    text.remove_prefix(part.bytes);
  }
  std::string result;
  if (text.empty()) {
    return result;
  }
  result.append(options_.prefix ? kMark : "");
  bool after_blank = single;
  while (!text.empty()) {
    Part part = first_part(text);
    while (after_blank && part.text.starts_with(' ')) {
      part.text.remove_prefix(1);
    }
    append(part.text, result);
    after_blank = single && (part.text.empty() ? after_blank : part.text.ends_with(' '));
    text.remove_prefix(part.bytes);
  }
  while (single && result.ends_with(kMark)) {
    result.resize(result.size() - kMark.size());
  }
  return result;
}

}  // namespace headlight
