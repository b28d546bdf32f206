#include "tokenizers/pipeline/sentencepiece_normalizer.h"

#include <utility>

#include "headlight/base/utf8.h"
#include "tokenizers/pipeline/normalizer.h"

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

void SentencePieceNormalizer::apply(const AlignedText& text, MadeText& made) const {
  const bool single = options_.single_blanks;
  std::size_t at = 0;
  while (single && at < text.size()) {
    const Part part = first_part(text.text.substr(at));
    if (part.text != " ") {
      break;
    }
    at += part.bytes;
  }
  if (at == text.size()) {
    return;
  }
  made.append(options_.prefix ? kMark : "", text.part(at, 0));
  bool after_blank = single;
  while (at < text.size()) {
    Part part = first_part(text.text.substr(at));
    while (after_blank && part.text.starts_with(' ')) {
      part.text.remove_prefix(1);
    }
    made.append(replaced(part.text, " ", kMark), text.part(at, part.bytes));
    after_blank = single && (part.text.empty() ? after_blank : part.text.ends_with(' '));
    at += part.bytes;
  }
  while (single && made.text().ends_with(kMark)) {
    made.shorten(kMark.size());
  }
}

}  // namespace headlight
