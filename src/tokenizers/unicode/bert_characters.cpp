#include "tokenizers/unicode/bert_characters.h"

#include "headlight/base/utf8.h"
#include "tokenizers/unicode/nfc.h"

namespace headlight {
namespace {

// Returns the index of the run, of `width` numbers, that begins last at or before the code point;
// none: the size of the runs.
std::size_t run_before(std::span<const std::uint32_t> runs, std::size_t width, char32_t c) {
  std::size_t low = 0;
  std::size_t high = runs.size() / width;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    (runs[middle * width] <= c ? low : high) = runs[middle * width] <= c ? middle + 1 : middle;
  }
  return low == 0 ? runs.size() : (low - 1) * width;
}

// Replaces each valid character by append(character, result).
template <class Append>
void rewrite(MadeText& text, const Append& append) {
  text.rewrite([&](const AlignedText& source, MadeText& made) {
    std::string replacement;
    for (std::size_t at = 0; at < source.size();) {
      const Utf8Character character = first_character(source.text.substr(at));
      const AlignedText bytes = source.part(at, static_cast<std::size_t>(character.length));
      replacement.clear();
      character.valid ? append(character.code_point, replacement)
                      : void(replacement.assign(bytes.text));
      made.append(replacement, bytes);
      at += bytes.size();
    }
  });
}

void append_clean(char32_t c, std::string& out) {
  const BertCharacters& of = bert_characters();
  if (!is_among(of.removed, c)) {
    append_utf8(is_among(of.blank, c) ? U' ' : c, out);
  }
}

void append_apart(char32_t c, std::string& out) {
  const bool is_apart = is_among(bert_characters().ideographs, c);
  out += is_apart ? " " : "";
  append_utf8(c, out);
  out += is_apart ? " " : "";
}

void append_lower(char32_t c, std::string& out) {
  constexpr char32_t kDottedI = 0x130;  // the only character with a longer lower case
  if (c == kDottedI) {
    out += "i\u0307";
  } else {
    append_utf8(lower_case(c), out);
  }
}

}  // namespace

bool is_among(std::span<const std::uint32_t> runs, char32_t code_point) {
  const std::size_t run = run_before(runs, 2, code_point);
  return run < runs.size() && code_point - runs[run] < runs[run + 1];
}

char32_t lower_case(char32_t c) {
  const std::span<const std::uint32_t> runs = bert_characters().lower;
  const std::size_t run = run_before(runs, 4, c);
  if (run == runs.size()) {
    return c;
  }
  const std::uint32_t distance = c - runs[run];
  const bool is_upper = distance % runs[run + 2] == 0 && distance / runs[run + 2] < runs[run + 1];
  return is_upper ? c + runs[run + 3] : c;
}

void bert_normalize(const BertNormalizerSteps& steps, MadeText& text) {
  if (steps.clean) {
    rewrite(text, append_clean);
  }
  if (steps.ideographs) {
    rewrite(text, append_apart);
  }
  if (steps.accents) {
    text.rewrite(nfd);
    rewrite(text, [](char32_t c, std::string& out) {
      if (!is_among(bert_characters().marks, c)) {
        append_utf8(c, out);
      }
    });
  }
  if (steps.lower) {
    rewrite(text, append_lower);
  }
}

}  // namespace headlight
