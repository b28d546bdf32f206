#include "tokenizers/unicode/nfc.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "headlight/base/utf8.h"

namespace headlight {
namespace {

// Hangul syllables are composed by arithmetic (The Unicode Standard, section 3.12).
constexpr char32_t kSyllables = 0xAC00;
constexpr char32_t kLeading = 0x1100;
constexpr char32_t kVowels = 0x1161;
constexpr char32_t kTrailing = 0x11A7;  // one before the first trailing consonant
constexpr char32_t kLeadingCount = 19;
constexpr char32_t kVowelCount = 21;
constexpr char32_t kTrailingCount = 28;
constexpr char32_t kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

constexpr char32_t kFirstActive = 0x300;  // NFC changes no character below this one
constexpr char32_t kActiveEnd = 0x30000;  // nor one from here on

bool within(char32_t c, char32_t first, char32_t count) { return c >= first && c - first < count; }

std::uint64_t pair_key(char32_t a, char32_t b) { return std::uint64_t{a} << 32 | b; }

struct Decomposition {
  char32_t first = 0;
  char32_t second = 0;  // 0: none
};

struct NfcTables {
  NfcTables() {
    const auto& [class_runs, singles, pairs, exclusions] = nfc_data();
    classes.resize(class_runs.back() >> 8);
    for (std::size_t i = 0; i + 1 < class_runs.size(); ++i) {
      std::fill(classes.begin() + (class_runs[i] >> 8), classes.begin() + (class_runs[i + 1] >> 8),
                static_cast<std::uint8_t>(class_runs[i] & 0xFF));
    }
    std::transform(classes.begin(), classes.end(), active.begin(),
                   [](std::uint8_t kind) { return kind != 0; });
    for (std::size_t i = 0; i < singles.size(); i += 2 + singles[i + 1]) {
      for (char32_t k = 0; k < singles[i + 1]; ++k) {
        decompositions[singles[i] + k] = {singles[i + 2 + k], 0};
        active[singles[i] + k] = true;
      }
    }
    for (std::size_t i = 0; i < pairs.size(); i += 2 + 2 * pairs[i + 1]) {
      for (char32_t k = 0; k < pairs[i + 1]; ++k) {
        add_pair(pairs[i + 2 + 2 * k], {pairs[i + 3 + 2 * k], pairs[i]}, exclusions);
      }
    }
    std::fill_n(active.begin() + kVowels, kVowelCount, true);
    std::fill_n(active.begin() + kTrailing + 1, kTrailingCount - 1, true);
  }

  // False for characters that NFC leaves unchanged unless an active character follows.
  bool is_active(char32_t c) const { return c < active.size() && active[c]; }
  std::uint8_t class_of(char32_t c) const { return c < classes.size() ? classes[c] : 0; }
  // Returns the composition of two characters; 0: they do not compose.
  char32_t composed(char32_t a, char32_t b) const {
    if (within(a, kLeading, kLeadingCount) && within(b, kVowels, kVowelCount)) {
      return kSyllables + ((a - kLeading) * kVowelCount + (b - kVowels)) * kTrailingCount;
    }
    if (within(a, kSyllables, kSyllableCount) && (a - kSyllables) % kTrailingCount == 0 &&
        within(b, kTrailing + 1, kTrailingCount - 1)) {
      return a + (b - kTrailing);
    }
    const auto found = compositions.find(pair_key(a, b));
    return found == compositions.end() ? 0 : found->second;
  }

  std::vector<std::uint8_t> classes;
  std::unordered_map<char32_t, Decomposition> decompositions;
  std::unordered_map<std::uint64_t, char32_t> compositions;
  std::vector<bool> active = std::vector<bool>(kActiveEnd);

 private:
  void add_pair(char32_t whole, Decomposition pair, std::span<const std::uint32_t> exclusions) {
    decompositions[whole] = pair;
    const bool composes = !std::ranges::binary_search(exclusions, whole);
    if (composes) {
      compositions[pair_key(pair.first, pair.second)] = whole;
    }
    active[composes ? pair.second : whole] = true;
  }
};

const NfcTables& tables() {
  static const NfcTables value;
  return value;
}

void append_decomposed(char32_t c, std::u32string& out) {
  if (within(c, kSyllables, kSyllableCount)) {
    const char32_t index = c - kSyllables;
    out.push_back(kLeading + index / (kVowelCount * kTrailingCount));
    out.push_back(kVowels + index / kTrailingCount % kVowelCount);
    if (index % kTrailingCount != 0) {
      out += kTrailing + index % kTrailingCount;
    }
    return;
  }
  const auto found = tables().decompositions.find(c);
  if (found == tables().decompositions.end()) {
    out += c;
    return;
  }
  append_decomposed(found->second.first, out);
  if (found->second.second != 0) {
    append_decomposed(found->second.second, out);
  }
}

// Sorts each run of marks by combining class; the sort is stable.
void reorder(std::u32string& text) {
  const auto is_mark = [](char32_t c) { return tables().class_of(c) != 0; };
  auto begin = text.begin();
  while (begin != text.end()) {
    begin = std::find_if(begin, text.end(), is_mark);
    const auto end = std::find_if_not(begin, text.end(), is_mark);
    std::stable_sort(begin, end, [](char32_t a, char32_t b) {
      return tables().class_of(a) < tables().class_of(b);
    });
    begin = end;
  }
}

// Composes each character with the last one of class 0 unless a character in between blocks it.
void compose(std::u32string& text) {
  constexpr std::size_t kNone = std::u32string::npos;
  std::size_t starter = kNone;
  std::size_t size = 0;
  std::uint8_t last_class = 0;
  for (const char32_t c : text) {
    const std::uint8_t kind = tables().class_of(c);
    const bool adjacent = starter != kNone && starter + 1 == size;
    const bool free = starter != kNone && (adjacent || (last_class != 0 && last_class < kind));
    const char32_t whole = free ? tables().composed(text[starter], c) : 0;
    if (whole != 0) {
      text[starter] = whole;
      continue;
    }
    if (kind == 0) {
      starter = size;
    }
    last_class = kind;
    text[size++] = c;
  }
  text.resize(size);
}

void append_characters(const std::u32string& characters, const AlignedText& source,
                       MadeText& made) {
  std::string text;
  for (const char32_t c : characters) {
    append_utf8(c, text);
  }
  made.append(text, source);
}

// Appends a character and the active ones after it, whose bytes are `source`.
void append_normalized(const std::u32string& run, const AlignedText& source, MadeText& made) {
  std::u32string characters;
  for (const char32_t c : run) {
    append_decomposed(c, characters);
  }
  reorder(characters);
  compose(characters);
  append_characters(characters, source, made);
}

}  // namespace

bool is_surely_nfc(std::string_view text) {
  while (!text.empty()) {
    if (static_cast<std::uint8_t>(text[0]) < 0x80) {
      text.remove_prefix(1);
      continue;
    }
    const Utf8Character character = first_character(text);
    if (character.valid && character.code_point >= kFirstActive &&
        tables().is_active(character.code_point)) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return true;
}

void nfc(const AlignedText& text, MadeText& made) {
  std::u32string run;         // a character and the active ones after it
  std::size_t run_begin = 0;  // its first byte
  const auto flush = [&](std::size_t end) {
    const AlignedText source = text.part(run_begin, end - run_begin);
    run.size() > 1 || (run.size() == 1 && tables().is_active(run[0]))
        ? append_normalized(run, source, made)
        : made.append(source);
    run.clear();
    run_begin = end;
  };
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = first_character(text.text.substr(at));
    if (!character.valid || !tables().is_active(character.code_point)) {
      flush(at);
    }
    at += static_cast<std::size_t>(character.length);
    if (character.valid) {
      run += character.code_point;
    } else {
      flush(at);
    }
  }
  flush(text.size());
}

void nfd(const AlignedText& text, MadeText& made) {
  std::u32string run;         // decomposed: a character of class 0 and marks
  std::size_t run_begin = 0;  // its first byte
  const auto flush = [&](std::size_t end) {
    reorder(run);
    append_characters(run, text.part(run_begin, end - run_begin), made);
    run.clear();
    run_begin = end;
  };
  std::u32string characters;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = first_character(text.text.substr(at));
    const auto length = static_cast<std::size_t>(character.length);
    characters.clear();
    if (character.valid) {
      append_decomposed(character.code_point, characters);
    }
    if (!character.valid || tables().class_of(characters[0]) == 0) {
      flush(at);
    }
    run += characters;
    at += length;
    if (!character.valid) {
      made.append(text.part(at - length, length));
      run_begin = at;
    }
  }
  flush(text.size());
}

}  // namespace headlight
