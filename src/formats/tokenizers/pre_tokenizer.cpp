#include "formats/tokenizers/pre_tokenizer.h"

#include <utility>

#include "formats/tokenizers/bert_characters.h"
#include "headlight/base/utf8.h"
#include "text/unicode_class.h"

namespace headlight {
namespace {

// A match, or the text between two matches.
struct Part {
  TextSpan span;
  bool is_match = false;
};

std::vector<TextSpan> known_matches(PieceLength length_of, std::string_view text) {
  std::vector<TextSpan> spans;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = begin + length_of(text.substr(begin));
    spans.push_back({begin, end});
    begin = end;
  }
  return spans;
}

std::vector<TextSpan> occurrences(std::string_view what, std::string_view text) {
  std::vector<TextSpan> spans;
  for (std::size_t begin = text.find(what); begin != text.npos;
       begin = text.find(what, begin + what.size())) {
    spans.push_back({begin, begin + what.size()});
  }
  return spans;
}

std::vector<TextSpan> matches_of(const SplitPattern& pattern, std::string_view text) {
  return pattern.known != nullptr    ? known_matches(pattern.known, text)
         : pattern.regex.has_value() ? pattern.regex->matches(text)
                                     : occurrences(pattern.text, text);
}

std::vector<Part> parts_of(std::string_view text, const std::vector<TextSpan>& matches,
                           bool invert) {
  std::vector<Part> parts;
  std::size_t end = 0;
  for (const TextSpan& match : matches) {
    if (end < match.begin) {
      parts.push_back({{end, match.begin}, invert});
    }
    parts.push_back({match, !invert});
    end = match.end;
  }
  if (end < text.size()) {
    parts.push_back({{end, text.size()}, invert});
  }
  return parts;
}

// True if a part belongs to the piece of the part before it.
bool joins(const Part& before, const Part& part, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::merged_with_previous:
      return part.is_match && !before.is_match;
    case SplitBehavior::merged_with_next:
      return before.is_match && !part.is_match;
    case SplitBehavior::contiguous:
      return before.is_match == part.is_match;
    default:
      return false;
  }
}

std::vector<TextSpan> spans_of(const std::vector<Part>& parts, SplitBehavior behavior) {
  std::vector<TextSpan> spans;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && joins(parts[i - 1], parts[i], behavior)) {
      spans.back().end = parts[i].span.end;
    } else if (behavior != SplitBehavior::removed || !parts[i].is_match) {
      spans.push_back(parts[i].span);
    }
  }
  return spans;
}

// Uses numbers of Unicode 17; the other classes are those of Unicode 16.
bool is_numeric(const Utf8Character& character) {
  const char32_t c = character.code_point;
  const bool newer = (c >= 0x11DE0 && c <= 0x11DE9) || (c >= 0x16FF4 && c <= 0x16FF6);
  return character.valid && (newer || unicode_class(c) == UnicodeClass::kNumber);
}

std::vector<TextSpan> digits_of(std::string_view text) {
  std::vector<TextSpan> spans;
  for (std::size_t begin = 0; begin < text.size();) {
    const Utf8Character character = first_character(text.substr(begin));
    const std::size_t end = begin + static_cast<std::size_t>(character.length);
    if (is_numeric(character)) {
      spans.push_back({begin, end});
    }
    begin = end;
  }
  return spans;
}

// Words and single punctuation characters.
std::vector<TextSpan> bert_words(std::string_view text) {
  std::vector<TextSpan> spans;
  bool in_word = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const Utf8Character character = first_character(text.substr(begin));
    const std::size_t end = begin + static_cast<std::size_t>(character.length);
    const bool is_space =
        character.valid && is_among(bert_characters().space, character.code_point);
    const bool is_mark =
        character.valid && is_among(bert_characters().punctuation, character.code_point);
    if (in_word && !is_space && !is_mark) {
      spans.back().end = end;
    } else if (!is_space) {
      spans.push_back({begin, end});
    }
    in_word = !is_space && !is_mark;
    begin = end;
  }
  return spans;
}

void add_spans(const TextPiece& piece, const std::vector<TextSpan>& spans,
               std::vector<TextPiece>& pieces) {
  for (const TextSpan& span : spans) {
    if (span.begin < span.end) {
      pieces.push_back(
          {piece.text.substr(span.begin, span.end - span.begin), piece.first && span.begin == 0});
    }
  }
}

void add_metaspace(const PreTokenizerStep& step, const TextPiece& piece,
                   std::deque<std::string>& storage, std::vector<TextPiece>& pieces) {
  std::string text;
  for (const char c : piece.text) {
    c == ' ' ? text += step.mark : text += c;
  }
  const bool wanted =
      step.scheme == PrependScheme::always || (step.scheme == PrependScheme::first && piece.first);
  if (wanted && !text.starts_with(step.mark)) {
    text.insert(0, step.mark);
  }
  storage.push_back(std::move(text));
  const TextPiece marked{storage.back(), piece.first};
  if (!step.cuts) {
    pieces.push_back(marked);
    return;
  }
  const std::vector<Part> parts = parts_of(marked.text, occurrences(step.mark, marked.text), false);
  add_spans(marked, spans_of(parts, SplitBehavior::merged_with_next), pieces);
}

void add_pieces(const PreTokenizerStep& step, const TextPiece& piece,
                std::deque<std::string>& storage, std::vector<TextPiece>& pieces) {
  switch (step.kind) {
    case PreTokenizerStep::Kind::split: {
      const std::vector<TextSpan> matches = matches_of(step.pattern, piece.text);
      add_spans(piece, spans_of(parts_of(piece.text, matches, step.invert), step.behavior), pieces);
      break;
    }
    case PreTokenizerStep::Kind::digits: {
      const std::vector<Part> parts = parts_of(piece.text, digits_of(piece.text), false);
      const SplitBehavior behavior =
          step.individual ? SplitBehavior::isolated : SplitBehavior::contiguous;
      add_spans(piece, spans_of(parts, behavior), pieces);
      break;
    }
    case PreTokenizerStep::Kind::prefix:
      if (piece.text.starts_with(' ')) {
        pieces.push_back(piece);
      } else {
        storage.push_back(" " + std::string(piece.text));
        pieces.push_back({storage.back(), piece.first});
      }
      break;
    case PreTokenizerStep::Kind::metaspace:
      add_metaspace(step, piece, storage, pieces);
      break;
    case PreTokenizerStep::Kind::bert:
      add_spans(piece, bert_words(piece.text), pieces);
      break;
  }
}

bool is_known_cut(const PreTokenizerStep& step) {
  const SplitBehavior whole = step.invert ? SplitBehavior::removed : SplitBehavior::isolated;
  return step.kind == PreTokenizerStep::Kind::split && step.pattern.known != nullptr &&
         step.behavior == whole;
}

}  // namespace

PreTokenizer::PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {
  if (!steps_.empty() && is_known_cut(steps_.back())) {
    last_ = steps_.back().pattern.known;
    steps_.pop_back();
  }
}

std::vector<TextPiece> PreTokenizer::split(TextPiece whole,
                                           std::deque<std::string>& storage) const {
  std::vector<TextPiece> pieces{whole};
  for (const PreTokenizerStep& step : steps_) {
    std::vector<TextPiece> next;
    for (const TextPiece& piece : pieces) {
      add_pieces(step, piece, storage, next);
    }
    pieces = std::move(next);
  }
  return pieces;
}

}  // namespace headlight
