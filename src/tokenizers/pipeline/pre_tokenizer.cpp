#include "tokenizers/pipeline/pre_tokenizer.h"

#include <utility>

#include "headlight/base/utf8.h"
#include "tokenizers/unicode/bert_characters.h"
#include "tokenizers/unicode/unicode_class.h"

namespace headlight {
namespace {

// A match, or the text between two matches.
struct TextPart {
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

std::vector<TextPart> parts_of(std::string_view text, const std::vector<TextSpan>& matches,
                               bool invert) {
  std::vector<TextPart> parts;
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
bool joins(const TextPart& before, const TextPart& part, SplitBehavior behavior) {
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

std::vector<TextSpan> spans_of(const std::vector<TextPart>& parts, SplitBehavior behavior) {
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

bool is_punctuation(const Utf8Character& character) {
  return character.valid && is_among(bert_characters().punctuation, character.code_point);
}

// Uses numbers of Unicode 17, and the other classes of Unicode 16.
bool is_numeric(const Utf8Character& character) {
  const char32_t c = character.code_point;
  const bool newer = (c >= 0x11DE0 && c <= 0x11DE9) || (c >= 0x16FF4 && c <= 0x16FF6);
  return character.valid && (newer || unicode_class(c) == UnicodeClass::kNumber);
}

// Returns the characters for which a function is true.
std::vector<TextSpan> characters_of(std::string_view text,
                                    bool (*is_wanted)(const Utf8Character& character)) {
  std::vector<TextSpan> spans;
  for (std::size_t begin = 0; begin < text.size();) {
    const Utf8Character character = first_character(text.substr(begin));
    const std::size_t end = begin + static_cast<std::size_t>(character.length);
    if (is_wanted(character)) {
      spans.push_back({begin, end});
    }
    begin = end;
  }
  return spans;
}

// Returns the words and, if they are `individual`, punctuation marks one by one.
std::vector<TextSpan> bert_words(std::string_view text, bool individual) {
  std::vector<TextSpan> spans;
  bool in_word = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const Utf8Character character = first_character(text.substr(begin));
    const std::size_t end = begin + static_cast<std::size_t>(character.length);
    const bool is_space =
        character.valid && is_among(bert_characters().space, character.code_point);
    const bool is_mark = individual && is_punctuation(character);
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
          {piece.text.part(span.begin, span.end - span.begin), piece.first && span.begin == 0});
    }
  }
}

void add_metaspace(const PreTokenizerStep& step, const TextPiece& piece, PieceStorage& storage,
                   std::vector<TextPiece>& pieces) {
  const bool wanted =
      step.scheme == PrependScheme::always || (step.scheme == PrependScheme::first && piece.first);
  const std::string_view start = piece.text.text;
  const bool prepends = wanted && !start.starts_with(' ') && !start.starts_with(step.mark);
  const auto mark_blanks = [&](const AlignedText& source, MadeText& made) {
    made.append(prepends ? step.mark : "", source.part(0, 0));
    for (std::size_t at = 0; at < source.size();) {
      const std::size_t blank = std::min(source.text.find(' ', at), source.size());
      made.append(source.part(at, blank - at));
      made.append(blank < source.size() ? step.mark : "", source.part(blank, 1));
      at = blank + 1;
    }
  };
  const MadeText& made = storage.texts.emplace_back(piece.text, storage.tracks, mark_blanks);
  const TextPiece marked{made.aligned(), piece.first};
  if (!step.cuts) {
    pieces.push_back(marked);
    return;
  }
  const std::vector<TextPart> parts =
      parts_of(made.text(), occurrences(step.mark, made.text()), false);
  add_spans(marked, spans_of(parts, SplitBehavior::merged_with_next), pieces);
}

void add_prefixed(const TextPiece& piece, PieceStorage& storage, std::vector<TextPiece>& pieces) {
  if (piece.text.text.starts_with(' ')) {
    pieces.push_back(piece);
    return;
  }
  const auto prefix = [](const AlignedText& source, MadeText& made) {
    made.append(" ", source.part(0, 0));
    made.append(source);
  };
  pieces.push_back(
      {storage.texts.emplace_back(piece.text, storage.tracks, prefix).aligned(), piece.first});
}

void add_pieces(const PreTokenizerStep& step, const TextPiece& piece, PieceStorage& storage,
                std::vector<TextPiece>& pieces) {
  const std::string_view text = piece.text.text;
  switch (step.kind) {
    case PreTokenizerStep::Kind::split: {
      const std::vector<TextSpan> matches = matches_of(step.pattern, text);
      add_spans(piece, spans_of(parts_of(text, matches, step.invert), step.behavior), pieces);
      break;
    }
    case PreTokenizerStep::Kind::digits:
    case PreTokenizerStep::Kind::punctuation: {
      const bool cuts_digits = step.kind == PreTokenizerStep::Kind::digits;
      const auto matches = characters_of(text, cuts_digits ? is_numeric : is_punctuation);
      add_spans(piece, spans_of(parts_of(text, matches, false), step.behavior), pieces);
      break;
    }
    case PreTokenizerStep::Kind::prefix:
      add_prefixed(piece, storage, pieces);
      break;
    case PreTokenizerStep::Kind::metaspace:
      add_metaspace(step, piece, storage, pieces);
      break;
    case PreTokenizerStep::Kind::bert:
      add_spans(piece, bert_words(text, step.individual), pieces);
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

std::vector<TextPiece> PreTokenizer::split(TextPiece whole, PieceStorage& storage) const {
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
