#include "formats/jinja/text_case.h"

#include <unordered_map>

#include "tokenizers/unicode/bert_characters.h"

namespace headlight::jinja {
namespace {

enum class Letter : std::uint8_t { upper, lower, title };

// Letters that are younger than Python's Unicode have no case.
char32_t lower_letter(char32_t letter) {
  return is_among(case_table().newer, letter) ? letter : lower_case(letter);
}

// Returns the first letter whose lower case is this one; the letter itself if there is none.
char32_t raised_letter(char32_t lower) {
  static const std::unordered_map<char32_t, char32_t> kRaised = [] {
    std::unordered_map<char32_t, char32_t> raised;
    for_each_upper([&](char32_t upper) { raised.emplace(lower_letter(upper), upper); });
    return raised;
  }();
  const auto found = kRaised.find(lower);
  return found == kRaised.end() ? lower : found->second;
}

// Returns the letters that one becomes; none if it is not in the table.
std::span<const std::uint32_t> several(std::span<const std::uint32_t> table, char32_t letter) {
  for (std::size_t i = 0; i < table.size() && table[i] <= letter; i += 2 + table[i + 1]) {
    if (table[i] == letter) {
      return table.subspan(i + 2, table[i + 1]);
    }
  }
  return {};
}

// Returns the letters of upper or title case; none if it is raised_letter().
std::span<const std::uint32_t> raised_letters(char32_t letter, Letter wanted) {
  const CaseTable& table = case_table();
  if (wanted == Letter::title) {
    const std::span<const std::uint32_t> letters = several(table.title, letter);
    if (!letters.empty() || raised_letter(letter) != letter) {
      return letters;
    }
  }
  return several(table.upper, letter);
}

void append_changed(char32_t letter, Letter wanted, std::string& out) {
  if (wanted == Letter::lower) {
    append_utf8(lower_letter(letter), out);
    return;
  }
  if (wanted == Letter::title && is_among(case_table().own_title, letter)) {
    append_utf8(letter, out);
    return;
  }
  const std::span<const std::uint32_t> letters = raised_letters(letter, wanted);
  if (letters.empty()) {
    append_utf8(raised_letter(letter), out);
  }
  for (const std::uint32_t one : letters) {
    append_utf8(one, out);
  }
}

bool has_upper(char32_t c) {
  return raised_letter(c) != c || !several(case_table().upper, c).empty();
}

bool is_lower(char32_t c) {
  return (has_upper(c) && lower_letter(c) == c) || is_among(case_table().only_lower, c);
}

// True for letters of upper and title case.
bool is_raised(char32_t c) {
  constexpr char32_t kDottedI = 0x130;  // becomes two characters in lower case
  return c == kDottedI || lower_letter(c) != c || is_among(case_table().only_upper, c);
}

bool is_upper(char32_t c) { return is_raised(c) && !has_upper(c); }

bool is_cased(char32_t c) { return is_lower(c) || is_raised(c); }

// True for the most frequent characters that a word may have between its letters.
bool is_ignorable(char32_t c) {
  constexpr std::u32string_view kSigns = U"'.:^`\u00A8\u00AD\u00AF\u00B4\u00B7\u00B8\u2018\u2019";
  return kSigns.find(c) != kSigns.npos || is_among(bert_characters().marks, c);
}

// True for a sigma that ends a word: its lower case is another letter.
bool is_final_sigma(std::string_view before, std::string_view after) {
  before = stripped_of(before, Side::right, is_ignorable);
  after = stripped_of(after, Side::left, is_ignorable);
  return !before.empty() &&
         is_cased(first_character(before.substr(before.size() - last_length(before))).code_point) &&
         (after.empty() || !is_cased(first_character(after).code_point));
}

// Changes each letter to the case wanted(letter before it or 0).
template <class Wanted>
std::string changed(std::string_view text, const Wanted& wanted) {
  constexpr char32_t kSigma = 0x3A3;
  std::string out;
  char32_t before = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = first_character(text.substr(at));
    const std::size_t end = at + static_cast<std::size_t>(character.length);
    const Letter letter = wanted(before);
    before = character.code_point;
    if (before == kSigma && letter == Letter::lower &&
        is_final_sigma(text.substr(0, at), text.substr(end))) {
      out += "\u03C2";
    } else if (before == 0x130 && letter == Letter::lower) {
      out += "i\u0307";
    } else {
      append_changed(before, letter, out);
    }
    at = end;
  }
  return out;
}

// True if the text has characters that are `wanted`, and none that is `other`.
template <class Wanted, class Other>
bool has_only(std::string_view text, const Wanted& wanted, const Other& other) {
  bool found = false;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (other(character.code_point)) {
      return false;
    }
    found = found || wanted(character.code_point);
    text.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return found;
}

}  // namespace

std::string upper_text(std::string_view text) {
  return changed(text, [](char32_t) { return Letter::upper; });
}

std::string lower_text(std::string_view text) {
  return changed(text, [](char32_t) { return Letter::lower; });
}

std::string capitalized_text(std::string_view text) {
  return changed(text, [](char32_t before) { return before == 0 ? Letter::title : Letter::lower; });
}

std::string title_text(std::string_view text) {
  return changed(text,
                 [](char32_t before) { return is_cased(before) ? Letter::lower : Letter::title; });
}

bool is_lower_text(std::string_view text) { return has_only(text, is_lower, is_raised); }

bool is_upper_text(std::string_view text) {
  return has_only(text, is_upper,
                  [](char32_t c) { return is_lower(c) || (is_raised(c) && !is_upper(c)); });
}

std::string stripped_by(const Call& call, std::string_view text, Side side) {
  if (!call.given(0) || call.value(0).is_none()) {
    return std::string(stripped(text, side));
  }
  const std::string& characters = call.text(0);
  const auto removes = [&](char32_t code) {
    call.budget().spend(characters.size());
    for (std::string_view rest = characters; !rest.empty();) {
      const Utf8Character first = first_character(rest);
      if (first.code_point == code) {
        return true;
      }
      rest.remove_prefix(static_cast<std::size_t>(first.length));
    }
    return false;
  };
  return std::string(stripped_of(text, side, removes));
}

std::string replaced(Budget& budget, std::string_view text, std::string_view old,
                     std::string_view with, std::int64_t most) {
  std::string out;
  budget.spend(text.size());
  std::size_t start = 0;
  for (std::size_t from = 0; most != 0; --most) {
    const std::size_t position = find_text(budget, text, old, from);
    if (position == std::string::npos) {
      break;
    }
    budget.spend(with.size() + 1);
    out += text.substr(start, position - start);
    out += with;
    start = position + old.size();
    from = start;
    if (old.empty()) {  // an empty text is between all characters
      if (position == text.size()) {
        break;
      }
      from += static_cast<std::size_t>(first_character(text.substr(position)).length);
    }
  }
  return out += text.substr(std::min(start, text.size()));
}

}  // namespace headlight::jinja
