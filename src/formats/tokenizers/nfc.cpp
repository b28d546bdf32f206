#include "formats/tokenizers/nfc.h"

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
    const char32_t place = c - kSyllables;
    out.push_back(kLeading + place / (kVowelCount * kTrailingCount));
    out.push_back(kVowels + place / kTrailingCount % kVowelCount);
    if (place % kTrailingCount != 0) {
      out += kTrailing + place % kTrailingCount;
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

void append_normalized(const std::u32string& run, std::string& out) {
  if (run.size() == 1 && !tables().is_active(run[0])) {
    append_utf8(run[0], out);
    return;
  }
  std::u32string characters;
  for (const char32_t c : run) {
    append_decomposed(c, characters);
  }
  reorder(characters);
  compose(characters);
  for (const char32_t c : characters) {
    append_utf8(c, out);
  }
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

std::string nfc(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::u32string run;  // a character and the active ones after it
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const auto length = static_cast<std::size_t>(character.length);
    if (!character.valid || !tables().is_active(character.code_point)) {
      append_normalized(run, out);
      run.clear();
    }
    if (character.valid) {
      run += character.code_point;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  append_normalized(run, out);
  return out;
}

std::string nfd(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::u32string run;  // decomposed characters
  const auto flush = [&] {
    reorder(run);
    for (const char32_t c : run) {
      append_utf8(c, out);
    }
    run.clear();
  };
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const auto length = static_cast<std::size_t>(character.length);
    if (character.valid) {
      append_decomposed(character.code_point, run);
    } else {
      flush();
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  flush();
  return out;
}

}  // namespace headlight
