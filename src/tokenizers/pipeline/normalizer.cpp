#include "tokenizers/pipeline/normalizer.h"

#include <algorithm>

#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "tokenizers/unicode/nfc.h"

namespace headlight {
namespace {

constexpr std::size_t kMostGrowth = 16;

void replace_matches(const NormalizerStep& step, const AlignedText& text, MadeText& made) {
  std::size_t at = 0;
  for (const TextSpan& match : step.regex->matches(text.text)) {
    made.append(text.part(at, match.begin - at));
    made.append(step.to, text.part(match.begin, match.end - match.begin));
    at = match.end;
  }
  made.append(text.part(at));
}

// Returns the length of the white space that a text begins or ends with.
std::size_t space_length(std::string_view text, bool at_end) {
  std::size_t first = 0;
  std::size_t last = 0;  // one past the last character that is none
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = first_character(text.substr(at));
    const bool is_space =
        character.valid && is_among(bert_characters().space, character.code_point);
    first = is_space && last == 0 ? at + static_cast<std::size_t>(character.length) : first;
    at += static_cast<std::size_t>(character.length);
    last = is_space ? last : at;
  }
  return at_end ? text.size() - last : first;
}

void strip(const NormalizerStep& step, const AlignedText& text, MadeText& made) {
  const std::size_t left = step.left ? space_length(text.text, false) : 0;
  const AlignedText rest = text.part(left);
  made.append(rest.part(0, rest.size() - (step.right ? space_length(rest.text, true) : 0)));
}

// Applies the rules to short characters with their marks as a whole, as Hugging Face `tokenizers`
// does; else to code points.
void apply_rules(const NormalizerStep& step, const AlignedText& text, MadeText& made) {
  constexpr std::size_t kShort = 6;  // bytes
  const auto replace = [&](const AlignedText& part) {
    const auto rule = step.rules.shortest_rule(part.text);
    rule.length == 0 ? made.append(part) : made.append(rule.replacement, part);
    return rule.length > 0;
  };
  for (const TextSpan& match : step.regex->matches(text.text)) {
    const AlignedText whole = text.part(match.begin, match.end - match.begin);
    const bool is_short = whole.size() < kShort;
    if (is_short && step.rules.shortest_rule(whole.text).length > 0) {
      replace(whole);
      continue;
    }
    for (std::size_t at = 0; at < whole.size();) {
      const auto length = static_cast<std::size_t>(first_character(whole.text.substr(at)).length);
      replace(whole.part(at, length));
      at += length;
    }
  }
}

void replace_all(const NormalizerStep& step, const AlignedText& text, MadeText& made) {
  if (step.regex) {
    replace_matches(step, text, made);
    return;
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t position = std::min(text.text.find(step.from, at), text.size());
    made.append(text.part(at, position - at));
    at = position;
    if (at < text.size()) {
      made.append(step.to, text.part(at, step.from.size()));
      at += step.from.size();
    }
  }
}

void apply_step(const NormalizerStep& step, MadeText& text) {
  switch (step.kind) {
    case NormalizerStep::Kind::nfc:
      if (!is_surely_nfc(text.text())) {
        text.rewrite(nfc);
      }
      break;
    case NormalizerStep::Kind::prepend:
      text.rewrite([&](const AlignedText& source, MadeText& made) {
        made.append(source.text.empty() ? "" : step.to, source.part(0, 0));
        made.append(source);
      });
      break;
    case NormalizerStep::Kind::bert:
      bert_normalize(step.bert, text);
      break;
    case NormalizerStep::Kind::sentencepiece:
      text.rewrite([&](const AlignedText& source, MadeText& made) {
        step.sentencepiece->apply(source, made);
      });
      break;
    case NormalizerStep::Kind::strip:
      text.rewrite([&](const AlignedText& source, MadeText& made) { strip(step, source, made); });
      break;
    case NormalizerStep::Kind::charsmap:
      text.rewrite(
          [&](const AlignedText& source, MadeText& made) { apply_rules(step, source, made); });
      break;
    case NormalizerStep::Kind::replace:
      text.rewrite(
          [&](const AlignedText& source, MadeText& made) { replace_all(step, source, made); });
      break;
  }
}

}  // namespace

bool Normalizer::keeps(std::string_view text) const {
  return std::all_of(steps_.begin(), steps_.end(), [&](const NormalizerStep& step) {
    return step.kind == NormalizerStep::Kind::nfc       ? is_surely_nfc(text)
           : step.kind == NormalizerStep::Kind::prepend ? text.empty()
           : step.kind != NormalizerStep::Kind::replace || step.regex
               ? false
               : text.find(step.from) == text.npos;
  });
}

MadeText Normalizer::apply(const AlignedText& text, bool tracks) const {
  MadeText result(text, tracks,
                  [](const AlignedText& source, MadeText& made) { made.append(source); });
  for (const NormalizerStep& step : steps_) {
    apply_step(step, result);
    require(result.text().size() <= kMostGrowth * (text.size() + kLongestText),
            "[encode] the normalizer makes too long a text: ", result.text().size(), " bytes from ",
            text.size());
  }
  return result;
}

std::string Normalizer::apply_to_token(std::string_view token) const {
  const bool keeps = std::ranges::any_of(steps_, [](const NormalizerStep& step) {
    return step.kind == NormalizerStep::Kind::sentencepiece;
  });
  return keeps ? std::string(token) : apply(AlignedText{token}, false).take();
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  while (true) {
    const std::size_t position = std::min(text.find(from), text.size());
    result += text.substr(0, position);
    if (position == text.size()) {
      return result;
    }
    result += to;
    text.remove_prefix(position + from.size());
  }
}

}  // namespace headlight
