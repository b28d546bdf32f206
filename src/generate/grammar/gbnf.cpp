#include "generate/grammar/gbnf.h"

#include <algorithm>
#include <map>

#include "base/strings/printable.h"
#include "generate/grammar/character_class.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxGrammarBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxGroupDepth = 64;
constexpr std::size_t kMaxRuleNameBytes = 256;
constexpr std::uint32_t kMaxRepetitions = 100'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_';
}

int hexadecimal_digit(char c) {
  return is_digit(c)            ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view text) : text_(text) {}

  GrammarProgram parse() {
    skip_blanks(true);
    while (position_ < text_.size()) {
      parse_rule();
      skip_blanks(true);
    }
    for (const auto& [name, rule] : rules_) {
      position_ = rule.first_use;
      check(rule.defined, "the rule '", name, "' is not defined");
    }
    const auto root = rules_.find("root");
    require_value(root != rules_.end(), "grammar", "has no rule 'root'");
    return builder_.finish(root->second.number);
  }

 private:
  struct Rule {
    std::uint32_t number = 0;
    std::size_t first_use = 0;
    bool defined = false;
  };

  template <class... Parts>
  void check(bool condition, const Parts&... parts) const {
    if (!condition) {
      const std::string_view before = text_.substr(0, position_);
      fail_value("grammar", "line ", 1 + std::count(before.begin(), before.end(), '\n'), ": ",
                 parts...);
    }
  }

  // Throws Error unless `condition` holds; the message shows the next character.
  void expect(bool condition, std::string_view expected) const {
    if (!condition) {
      check(false, "expected ", expected, ", got ", shown_next());
    }
  }

  std::string shown_next() const {
    if (position_ == text_.size()) {
      return "the end of the grammar";
    }
    const std::string_view rest = text_.substr(position_);
    return rest.front() == '\n'
               ? "the end of the line"
               : in_quotes(rest.substr(0, static_cast<std::size_t>(first_character(rest).length)));
  }

  char next() const { return position_ < text_.size() ? text_[position_] : '\0'; }

  // Skips a text if it is next.
  bool take(std::string_view text) {
    const bool found = text_.substr(position_).starts_with(text);
    position_ += found ? text.size() : 0;
    return found;
  }

  void skip_blanks(bool over_lines) {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '#') {
        position_ = std::min(text_.find('\n', position_), text_.size());
      } else if (c == ' ' || c == '\t' || c == '\r' || (over_lines && c == '\n')) {
        ++position_;
      } else {
        return;
      }
    }
  }

  std::string name() {
    const std::size_t begin = position_;
    while (is_name_character(next())) {
      ++position_;
    }
    check(position_ - begin <= kMaxRuleNameBytes, "a name has more than ", kMaxRuleNameBytes,
          " characters");
    return std::string(text_.substr(begin, position_ - begin));
  }

  Rule& rule_called(const std::string& name) {
    const auto [entry, is_new] = rules_.try_emplace(name);
    if (is_new) {
      entry->second = {.number = builder_.new_rule(name), .first_use = position_};
    }
    return entry->second;
  }

  void parse_rule() {
    expect(is_name_character(next()), "the name of a rule");
    name_ = name();
    Rule& rule = rule_called(name_);
    check(!rule.defined, "the rule '", name_, "' is defined twice");
    rule.defined = true;
    skip_blanks(false);
    expect(take("::="), "'::=' after the rule name");
    const std::uint32_t number = rule.number;
    builder_.define(number, alternatives(0));
    expect(position_ == text_.size() || next() == '\n', "the end of the rule");
  }

  // Skips a '|'. Outside groups it may be the first character of a line.
  bool take_bar() {
    const std::size_t begin = position_;
    skip_blanks(true);
    const bool found = take("|");
    position_ = found ? position_ : begin;
    return found;
  }

  GrammarFragment alternatives(std::size_t depth) {
    check(depth <= kMaxGroupDepth, "groups are nested deeper than ", kMaxGroupDepth);
    GrammarFragment all = sequence(depth);
    while (take_bar()) {
      all = builder_.either(all, sequence(depth));
    }
    return all;
  }

  GrammarFragment sequence(std::size_t depth) {
    GrammarFragment all = builder_.empty();
    skip_blanks(false);
    const std::size_t begin = position_;
    skip_blanks(true);
    if (depth == 0 && at_next_rule()) {
      position_ = begin;
      return all;
    }
    while (position_ < text_.size() && next() != '|' && next() != ')' && next() != '\n') {
      GrammarFragment part = item(depth);
      skip_blanks(depth > 0);
      while (repeat(part)) {
        skip_blanks(depth > 0);
      }
      all = builder_.sequence(all, part);
    }
    return all;
  }

  // Returns whether a rule begins here. The rule before it may be empty.
  bool at_next_rule() const {
    std::size_t end = position_;
    while (end < text_.size() && is_name_character(text_[end])) {
      ++end;
    }
    end = std::min(text_.find_first_not_of(" \t", end), text_.size());
    return end > position_ && text_.substr(end).starts_with("::=");
  }

  GrammarFragment item(std::size_t depth) {
    if (take("\"")) {
      return literal();
    }
    if (take("[")) {
      return bracket();
    }
    if (take(".")) {
      return character_class(builder_, {}, true);
    }
    if (take("(")) {
      const GrammarFragment group = alternatives(depth + 1);
      expect(take(")"), "')' at the end of the group");
      return group;
    }
    expect(is_name_character(next()), "a rule, a text, '[', '.' or '('");
    return builder_.call(rule_called(name()).number);
  }

  GrammarFragment literal() {
    std::string bytes;
    while (!take("\"")) {
      append_utf8(character("'\"' at the end of the text"), bytes);
    }
    GrammarFragment all = builder_.empty();
    for (const char c : bytes) {
      const auto byte = static_cast<std::uint8_t>(c);
      all = builder_.sequence(all, builder_.byte(byte, byte));
    }
    return all;
  }

  GrammarFragment bracket() {
    constexpr std::string_view kEnd = "']' at the end of the characters";
    const bool negated = take("^");
    std::vector<CharacterRange> ranges;
    while (!take("]")) {
      CharacterRange range;
      range.first = range.last = character(kEnd);
      if (next() == '-' && !text_.substr(position_).starts_with("-]")) {
        ++position_;
        range.last = character(kEnd);
        check(range.first <= range.last, "a range of characters ends before it begins");
      }
      ranges.push_back(range);
    }
    return character_class(builder_, std::move(ranges), negated);
  }

  // Reads a character of a text or a class, which may be an escape. `end` describes the end.
  char32_t character(std::string_view end) {
    expect(position_ < text_.size() && next() != '\n', end);
    if (!take("\\")) {
      const Utf8Character found = first_character(text_.substr(position_));
      position_ += static_cast<std::size_t>(found.length);
      return found.code_point;
    }
    constexpr std::string_view kNames = "nrt\"\\[]-";
    constexpr std::string_view kValues = "\n\r\t\"\\[]-";
    const char letter = next();
    const std::size_t known = kNames.find(letter);
    const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    expect(known != std::string_view::npos || digits > 0,
           R"(one of n r t " \ [ ] - xNN uNNNN UNNNNNNNN after '\')");
    ++position_;
    return digits > 0 ? code_point(digits) : static_cast<char32_t>(kValues[known]);
  }

  char32_t code_point(std::size_t digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const int digit = hexadecimal_digit(next());
      expect(digit >= 0, "a hexadecimal digit");
      value = value * 16 + static_cast<char32_t>(digit);
      ++position_;
    }
    check(value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF),
          "an escape is not a character of Unicode");
    return value;
  }

  // Applies a repetition if it is next.
  bool repeat(GrammarFragment& part) {
    if (take("*")) {
      part = builder_.repeated(part, 0);
    } else if (take("+")) {
      part = builder_.repeated(part, 1);
    } else if (take("?")) {
      part = builder_.optional(part);
    } else if (take("{")) {
      part = counted(part);
    } else {
      return false;
    }
    return true;
  }

  // Reads "m}", "m,}" or "m,n}".
  GrammarFragment counted(GrammarFragment part) {
    const std::uint32_t least = count();
    std::uint32_t most = least;
    bool has_most = true;
    if (take(",")) {
      skip_blanks(true);
      has_most = is_digit(next());
      most = has_most ? count() : least;
    }
    expect(take("}"), "'}' at the end of the repetition");
    check(least <= most, "a repetition has a maximum below its minimum");
    if (has_most) {
      return builder_.counted(part, least, most, name_);
    }
    const std::uint32_t rule = builder_.new_rule(name_);
    builder_.define(rule, part);
    return builder_.sequence(builder_.counted(builder_.call(rule), least, least, name_),
                             builder_.repeated(builder_.call(rule), 0));
  }

  std::uint32_t count() {
    skip_blanks(true);
    expect(is_digit(next()), "a number of repetitions");
    std::uint32_t value = 0;
    while (is_digit(next())) {
      value = value * 10 + static_cast<std::uint32_t>(next() - '0');
      check(value <= kMaxRepetitions, "expected at most ", kMaxRepetitions, " repetitions");
      ++position_;
    }
    skip_blanks(true);
    return value;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::string name_;  // of the rule being read
  std::map<std::string, Rule> rules_;
  ProgramBuilder builder_;
};

// Returns the number of a character as an escape: \xNN, \uNNNN or \UNNNNNNNN.
std::string numbered(char32_t character) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const int digits = character < 0x100 ? 2 : character < 0x10000 ? 4 : 8;
  std::string text = digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
  for (int i = digits - 1; i >= 0; --i) {
    text += kDigits[(character >> static_cast<unsigned>(4 * i)) & 0xFU];
  }
  return text;
}

std::string class_character(char32_t character) {
  const bool is_plain = (character >= '0' && character <= '9') ||
                        (character >= 'A' && character <= 'Z') ||
                        (character >= 'a' && character <= 'z');
  return is_plain ? std::string(1, static_cast<char>(character)) : numbered(character);
}

}  // namespace

GrammarProgram compile_gbnf(std::string_view text) {
  require_value(text.size() <= kMaxGrammarBytes, "grammar", "expected at most ", kMaxGrammarBytes,
                " bytes, got ", text.size());
  require_utf8_value(text, "grammar");
  return GbnfParser(text).parse();
}

std::string gbnf_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (c == '"' || c == '\\') {
      literal += '\\';
      literal += c;
    } else if (byte < 0x20) {
      literal += numbered(byte);
    } else {
      literal += c;
    }
  }
  return literal + '"';
}

std::string gbnf_class(const std::vector<CharacterRange>& ranges) {
  std::string all;
  for (const CharacterRange& range : ranges) {
    for (const auto& [low, high] : {CharacterRange{0, 0xD7FF}, {0xE000, kLastCharacter}}) {
      const char32_t first = std::max(range.first, low);
      const char32_t last = std::min(range.last, high);
      if (first <= last) {
        all += class_character(first) + (first < last ? '-' + class_character(last) : "");
      }
    }
  }
  return all.empty() ? "" : '[' + all + ']';
}

}  // namespace headlight
