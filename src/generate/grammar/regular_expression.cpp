#include "generate/grammar/regular_expression.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/strings/printable.h"
#include "generate/grammar/character_network.h"
#include "generate/grammar/gbnf.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

using Ranges = std::vector<CharacterRange>;
using NetworkPart = CharacterNetwork::Part;
using Combined = TextLanguage::Combined;

constexpr std::size_t kMaxPatternDepth = 64;
constexpr std::size_t kMaxPatternCount = 10'000;
constexpr std::size_t kMaxPatternBytes = 10'000;

// The characters of a class in both engines, and in one of them or perhaps.
struct CharacterClass {
  char letter;
  Ranges surely;
  Ranges possibly;
};

// Blocks whose characters are all alike replace exact tables.
const std::array<CharacterClass, 3>& character_classes() {
  static const std::array<CharacterClass, 3> kClasses{{
      {'d',
       {{'0', '9'}},
       {{'0', '9'},
        {0x660, 0x1DFF},
        {0xA620, 0xABFF},
        {0xFF10, 0xFF19},
        {0x10400, 0x1EFFF},
        {0x1FBF0, 0x1FFFF}}},
      {'w',
       {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
       {{'0', '9'},
        {'A', 'Z'},
        {'_', '_'},
        {'a', 'z'},
        {0xAA, 0x1FFF},
        {0x2070, 0x24FF},
        {0x2776, 0x2793},
        {0x2C00, 0x2E2F},
        {0x3005, 0x3007},
        {0x3021, 0x1F2FF},
        {0x1FB00, kLastCharacter}}},
      {'s',
       {{'\t', '\r'},
        {' ', ' '},
        {0xA0, 0xA0},
        {0x1680, 0x1680},
        {0x2000, 0x200A},
        {0x2028, 0x2029},
        {0x202F, 0x202F},
        {0x205F, 0x205F},
        {0x3000, 0x3000}},
       {{'\t', '\r'},
        {0x1C, ' '},
        {0x85, 0x85},
        {0xA0, 0xA0},
        {0x1680, 0x1680},
        {0x180E, 0x180E},
        {0x2000, 0x200A},
        {0x2028, 0x2029},
        {0x202F, 0x202F},
        {0x205F, 0x205F},
        {0x3000, 0x3000},
        {0xFEFF, 0xFEFF}}},
  }};
  return kClasses;
}

class PatternParser {
 public:
  PatternParser(std::string_view pattern, PatternMatch match) : rest_(pattern), match_(match) {}

  // `is_whole`: a match reaches from the beginning to the end of the text.
  TextLanguage language(bool is_whole) {
    std::vector<std::pair<TextLanguage, bool>> assertions;
    const bool is_anchored = rest_.starts_with("^(?=") || rest_.starts_with("^(?!");
    rest_.remove_prefix(is_anchored ? 1 : 0);
    while (is_anchored && (rest_.starts_with("(?=") || rest_.starts_with("(?!"))) {
      assertions.push_back(assertion());
    }
    network_ = {};
    const NetworkPart start = is_anchored || is_whole ? network_.start_of_text() : any_text();
    const NetworkPart pattern = is_anchored ? sequence(0) : alternatives(0);
    require(rest_.empty(), is_anchored ? "'|' after '^(?'" : "an unmatched ')'", kRefused);
    const NetworkPart end = is_whole ? network_.end_of_text() : any_text();
    TextLanguage all = network_.language(then(then(start, pattern), end));
    for (const auto& [language, is_negative] : assertions) {
      all = TextLanguage::combined(all, language,
                                   is_negative ? Combined::only_in_first : Combined::in_both);
    }
    return all;
  }

 private:
  static constexpr std::string_view kRefused = " cannot be expressed by a grammar";

  bool take(std::string_view text) {
    const bool found = rest_.starts_with(text);
    rest_.remove_prefix(found ? text.size() : 0);
    return found;
  }

  NetworkPart then(NetworkPart first, NetworkPart second) {
    return network_.sequence(first, second);
  }

  NetworkPart any_text() {
    return network_.repeated(network_.character({{0, kLastCharacter}}), false);
  }

  bool is_possible() const { return match_ == PatternMatch::possibly; }

  // Reads an assertion at the start of the text, and returns whether it is negative.
  std::pair<TextLanguage, bool> assertion() {
    const bool is_negative = rest_[2] == '!';
    const PatternMatch outer = match_;
    rest_.remove_prefix(3);
    if (is_negative) {
      match_ = is_possible() ? PatternMatch::surely : PatternMatch::possibly;
    }
    network_ = {};
    const NetworkPart start = network_.start_of_text();
    const NetworkPart all = then(then(start, alternatives(1)), any_text());
    require(take(")"), "expected ')' at the end of the group");
    match_ = outer;
    return {network_.language(all), is_negative};
  }

  NetworkPart alternatives(std::size_t depth) {
    require(depth <= kMaxPatternDepth, "groups are nested deeper than ", kMaxPatternDepth);
    NetworkPart all = sequence(depth);
    while (take("|")) {
      all = network_.either(all, sequence(depth));
    }
    return all;
  }

  NetworkPart sequence(std::size_t depth) {
    NetworkPart all = network_.empty();
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')') {
      all = then(all, repeated_item(depth));
    }
    return all;
  }

  struct Repetition {
    std::size_t least = 1;
    std::size_t most = 1;
  };

  // A repeated item is read again for each further copy.
  NetworkPart repeated_item(std::size_t depth) {
    const std::string_view begin = rest_;
    const NetworkPart first = item(depth);
    const std::string_view text = begin.substr(0, begin.size() - rest_.size());
    const auto found = repetition();
    if (!found) {
      return first;
    }
    require(text != "^" && text != "$", "a repeated '", text, "'", kRefused);
    const std::string_view after = rest_;
    bool is_first = true;
    const auto copy = [&] {
      rest_ = text;
      return std::exchange(is_first, false) ? first : item(depth);
    };
    const NetworkPart all = copies(*found, copy);
    rest_ = after;
    return all;
  }

  template <class Copy>
  NetworkPart copies(const Repetition& count, const Copy& copy) {
    const bool is_open = count.most == TextLanguage::kNoMaximum;
    NetworkPart all = network_.empty();
    for (std::size_t i = is_open ? 1 : 0; i < count.least; ++i) {
      all = then(all, copy());
    }
    if (is_open) {
      return then(all, network_.repeated(copy(), count.least > 0));
    }
    NetworkPart optional = network_.empty();
    for (std::size_t i = count.least; i < count.most; ++i) {
      optional = network_.either(then(copy(), optional), network_.empty());
    }
    return then(all, optional);
  }

  // Reads "*", "+", "?", "{m}", "{m,}" or "{m,n}". A '?' behind it changes no set of texts.
  std::optional<Repetition> repetition() {
    Repetition found;
    if (take("*")) {
      found = {0, TextLanguage::kNoMaximum};
    } else if (take("+")) {
      found = {1, TextLanguage::kNoMaximum};
    } else if (take("?")) {
      found = {0, 1};
    } else if (!counted(found)) {
      return std::nullopt;
    }
    take("?");
    require(rest_.empty() || std::string_view("*+?").find(rest_.front()) == std::string_view::npos,
            "a repetition of a repetition", kRefused);
    return found;
  }

  // A '{' that begins no repetition is a character.
  bool counted(Repetition& found) {
    const std::string_view begin = rest_;
    if (!take("{")) {
      return false;
    }
    require(!rest_.starts_with(','), "'{,'", kRefused);
    const auto least = number();
    std::optional<std::size_t> most = least;
    if (least && take(",")) {
      most = rest_.starts_with('}') ? std::optional(TextLanguage::kNoMaximum) : number();
    }
    if (!least || !most || !take("}")) {
      rest_ = begin;
      return false;
    }
    require(*least <= *most, "a repetition has a maximum below its minimum");
    found = {*least, *most};
    return true;
  }

  std::optional<std::size_t> number() {
    if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') {
      return std::nullopt;
    }
    std::size_t value = 0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      value = value * 10 + static_cast<std::size_t>(rest_.front() - '0');
      require(value <= kMaxPatternCount, "expected at most ", kMaxPatternCount, " repetitions");
      rest_.remove_prefix(1);
    }
    return value;
  }

  NetworkPart item(std::size_t depth) {
    if (take("(")) {
      return group(depth);
    }
    if (take("[")) {
      return network_.character(bracket());
    }
    if (take("^")) {
      return network_.start_of_text();
    }
    if (take("$")) {
      const NetworkPart end = network_.end_of_text();
      return is_possible()
                 ? then(network_.either(network_.character({{'\n', '\n'}}), network_.empty()), end)
                 : end;
    }
    if (take(".")) {
      return network_.character(
          other_characters(is_possible() ? Ranges{{'\n', '\n'}}
                                         : Ranges{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}));
    }
    require(std::string_view("*+?").find(rest_.front()) == std::string_view::npos, "'",
            rest_.front(), "' repeats nothing");
    return network_.character(character(false));
  }

  NetworkPart group(std::size_t depth) {
    if (take("?")) {
      const bool is_named = take("<") || take("P<");
      if (is_named) {
        require(!rest_.starts_with('=') && !rest_.starts_with('!'), "'(?<'", kRefused);
        const std::size_t end = rest_.find('>');
        require(end != std::string_view::npos, "expected '>' after the name of a group");
        rest_.remove_prefix(end + 1);
      }
      require(is_named || take(":"), "'(?", rest_.substr(0, 1), "'", kRefused);
    }
    const NetworkPart inner = alternatives(depth + 1);
    require(take(")"), "expected ')' at the end of the group");
    return inner;
  }

  Ranges bracket() {
    const bool is_negated = take("^");
    require(!rest_.starts_with(']'), is_negated ? "'[^]'" : "'[]'", kRefused);
    // A character that is possibly in the class is surely not in its complement.
    const PatternMatch outer = match_;
    if (is_negated) {
      match_ = is_possible() ? PatternMatch::surely : PatternMatch::possibly;
    }
    Ranges all;
    while (!take("]")) {
      Ranges one = character(true);
      if (rest_.starts_with('-') && !rest_.starts_with("-]")) {
        rest_.remove_prefix(1);
        const Ranges last = character(true);
        require(is_single(one) && is_single(last), "a range from or to a class", kRefused);
        require(one[0].first <= last[0].last, "a range of characters ends before it begins");
        one[0].last = last[0].last;
      }
      all.insert(all.end(), one.begin(), one.end());
    }
    match_ = outer;
    all = merged_ranges(std::move(all));
    return is_negated ? other_characters(all) : all;
  }

  static bool is_single(const Ranges& ranges) {
    return ranges.size() == 1 && ranges[0].first == ranges[0].last;
  }

  // Reads a character, which may be an escape, or a class such as "\d".
  Ranges character(bool in_bracket) {
    require(!rest_.empty(), "expected ']' at the end of the characters");
    if (!take("\\")) {
      const Utf8Character found = first_character(rest_);
      rest_.remove_prefix(static_cast<std::size_t>(found.length));
      return {{found.code_point, found.code_point}};
    }
    require(!rest_.empty(), "expected a character after '\\'");
    const char letter = rest_.front();
    for (const CharacterClass& one : character_classes()) {
      const bool is_negated = letter == one.letter - 'a' + 'A';
      if (letter == one.letter || is_negated) {
        rest_.remove_prefix(1);
        const Ranges& ranges = is_possible() != is_negated ? one.possibly : one.surely;
        return is_negated ? other_characters(ranges) : ranges;
      }
    }
    const char32_t value = escaped_character(in_bracket);
    return {{value, value}};
  }

  char32_t escaped_character(bool in_bracket) {
    constexpr std::string_view kLetters = "tnvfr";
    constexpr std::string_view kValues = "\t\n\v\f\r";
    const Utf8Character next = first_character(rest_);
    const auto letter = static_cast<char>(next.code_point);
    const bool is_ascii = next.code_point < 0x80;
    const std::string_view shown = rest_.substr(0, static_cast<std::size_t>(next.length));
    rest_.remove_prefix(shown.size());
    if (is_ascii && kLetters.find(letter) != std::string_view::npos) {
      return static_cast<char32_t>(kValues[kLetters.find(letter)]);
    }
    if (letter == 'x' || letter == 'u') {
      return hexadecimal(letter == 'x' ? 2 : 4);
    }
    if (letter == 'b' && in_bracket) {
      return U'\b';
    }
    const bool is_zero = letter == '0' && (rest_.empty() || rest_[0] < '0' || rest_[0] > '9');
    const bool is_mark =
        is_ascii && (letter == '_' || letter < '0' || letter > 'z' ||
                     (letter > '9' && letter < 'A') || (letter > 'Z' && letter < 'a'));
    require(is_zero || is_mark, "'\\", shown, "'", kRefused);
    return is_zero ? U'\0' : next.code_point;
  }

  char32_t hexadecimal(std::size_t digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const char digit = rest_.empty() ? ' ' : static_cast<char>(rest_[0] | 0x20);
      const std::size_t position = kDigits.find(digit);
      require(position != std::string_view::npos, "expected ", digits, " hexadecimal digits");
      value = value * 16 + static_cast<char32_t>(position);
      rest_.remove_prefix(1);
    }
    require(value < 0xD800 || value > 0xDFFF, "half of a surrogate pair", kRefused);
    return value;
  }

  std::string_view rest_;
  PatternMatch match_;
  CharacterNetwork network_;
};

TextLanguage language_of(std::string_view pattern, PatternMatch match, bool is_whole) {
  require(pattern.size() <= kMaxPatternBytes, "expected at most ", kMaxPatternBytes, " bytes");
  return PatternParser(pattern, match).language(is_whole);
}

}  // namespace

TextLanguage pattern_language(std::string_view pattern, PatternMatch match) {
  return language_of(pattern, match, false);
}

TextLanguage whole_language(std::string_view pattern) {
  return language_of(pattern, PatternMatch::surely, true);
}

std::string pattern_grammar(std::string_view pattern) {
  const TextLanguage texts = whole_language(pattern);
  require(!texts.is_empty(), "no text matches");
  return language_rules(texts, "root", gbnf_class);
}

}  // namespace headlight
