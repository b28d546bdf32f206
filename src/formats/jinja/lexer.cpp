#include <algorithm>

#include "formats/jinja/syntax.h"
#include "formats/jinja/words.h"
#include "headlight/base/utf8.h"

namespace headlight::jinja {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (c & 0x80) != 0;
}

// Returns the source with \n for all line ends, without the last one.
std::string unix_lines(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const bool is_pair = source.substr(i, 2) == "\r\n";
    text += source[i] == '\r' ? '\n' : source[i];
    i += is_pair ? 1 : 0;
  }
  if (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(unix_lines(source)), rest_(source_) {}

  std::vector<Token> tokens() {
    while (!rest_.empty()) {
      read_text();
    }
    add(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, line_, std::move(text)}); }

  // Removes bytes from the rest, and counts lines.
  std::string_view take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    line_ += static_cast<std::size_t>(std::count(taken.begin(), taken.end(), '\n'));
    after_line_end_ = taken.empty() ? after_line_end_ : taken.back() == '\n';
    return taken;
  }

  void skip_space() { take(rest_.size() - stripped(rest_, Side::left).size()); }

  bool skip(std::string_view start) {
    const bool found = rest_.starts_with(start);
    take(found ? start.size() : 0);
    return found;
  }

  // Reads text up to the next tag, and the tag.
  void read_text() {
    std::size_t size = 0;
    do {
      size = std::min(rest_.find('{', size), rest_.size());
    } while (size < rest_.size() && !is_tag(rest_.substr(size)) && ++size != 0);
    const bool was_line_start = after_line_end_;
    const std::size_t line = line_;
    const std::string_view text = take(size);
    if (rest_.empty()) {
      return add_text(text, line);
    }
    const std::string_view tag = take(2);
    add_text(before_tag(text, tag, was_line_start), line);
    take(sign().size());
    if (tag == "{#") {
      return skip_comment();
    }
    if (tag == "{%" && is_raw()) {
      return read_raw();
    }
    add(TokenKind::symbol, std::string(tag));
    read_code(tag == "{%" ? "%}" : "}}");
  }

  static bool is_tag(std::string_view text) {
    return text.starts_with("{{") || text.starts_with("{%") || text.starts_with("{#");
  }

  void add_text(std::string_view text, std::size_t line) {
    if (!text.empty()) {
      tokens_.push_back({TokenKind::text, line, std::string(text)});
    }
  }

  // Returns the sign after the beginning of a tag: "-", "+" or "".
  std::string_view sign() const {
    return rest_.substr(0, rest_.starts_with('-') || rest_.starts_with('+') ? 1 : 0);
  }

  // Returns the text that stays before a tag.
  std::string_view before_tag(std::string_view text, std::string_view tag,
                              bool was_line_start) const {
    if (sign() == "-") {
      return stripped(text, Side::right);
    }
    const std::size_t end = text.rfind('\n');
    const std::size_t start = end == std::string_view::npos ? 0 : end + 1;
    const bool is_blank = stripped(text.substr(start), Side::left).empty();
    const bool strips = sign().empty() && tag != "{{" && (start > 0 || was_line_start);
    return strips && is_blank ? text.substr(0, start) : text;
  }

  // Reads the end of a tag, and the white space that it removes.
  bool read_end(std::string_view end) {
    const std::string_view sign_here = sign();
    if (!rest_.substr(sign_here.size()).starts_with(end) || (sign_here == "+" && end == "}}")) {
      return false;
    }
    take(sign_here.size() + end.size());
    if (sign_here == "-") {
      skip_space();
    } else if (sign_here.empty() && end != "}}") {
      skip("\n");
    }
    return true;
  }

  void skip_comment() {
    const std::size_t line = line_;
    const std::size_t end = rest_.find("#}");
    if (end == std::string_view::npos) {
      fail_at(line, "the comment has no end #}");
    }
    const bool has_sign = end > 0 && (rest_[end - 1] == '-' || rest_[end - 1] == '+');
    take(has_sign ? end - 1 : end);
    read_end("#}");
  }

  bool is_raw() const {
    const std::string_view code = stripped(rest_, Side::left);
    const std::string_view end =
        code.starts_with("raw") ? stripped(code.substr(3), Side::left) : "";
    return end.starts_with("%}") || end.starts_with("-%}");
  }

  void read_raw() {
    skip_space();
    take(3);
    skip_space();
    const bool strips = skip("-");
    take(2);
    if (strips) {
      skip_space();
    }
    const std::size_t line = line_;
    const std::string_view all = rest_;
    for (std::size_t at = 0; (at = all.find("{%", at)) != std::string_view::npos; at += 2) {
      const bool was_line_start = after_line_end_;
      const std::string_view text = all.substr(0, at);
      std::string_view tag = all.substr(at + 2);
      tag.remove_prefix(tag.starts_with('-') || tag.starts_with('+') ? 1 : 0);
      if (stripped(tag, Side::left).starts_with("endraw")) {
        take(at + 2);
        add_text(before_tag(text, "{%", was_line_start), line);
        take(sign().size());
        skip_space();
        take(6);
        skip_space();
        if (!read_end("%}")) {
          fail_at(line_, "expected %} after endraw");
        }
        return;
      }
    }
    fail_at(line, "{% raw %} has no {% endraw %}");
  }

  // Reads an expression or statement, up to its end outside of brackets.
  void read_code(std::string_view end) {
    const std::size_t first_line = line_;
    std::string open;
    while (true) {
      skip_space();
      const std::size_t line = line_;
      if (rest_.empty()) {
        fail_at(first_line, concat_text("the tag has no end ", end));
      }
      if (open.empty() && read_end(end)) {
        tokens_.push_back({TokenKind::symbol, line, std::string(end)});
        return;
      }
      if (rest_[0] == '"' || rest_[0] == '\'') {
        read_string();
      } else if (is_digit(rest_[0])) {
        read_number_token();
      } else if (is_name_character(rest_[0])) {
        read_name();
      } else {
        read_symbol(open);
      }
    }
  }

  void read_name() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_name_character);
    const auto size = static_cast<std::size_t>(end - rest_.begin());
    if (size > kLongestName) {
      fail_at(line_, concat_text("a name has more than ", kLongestName, " bytes"));
    }
    add(TokenKind::name, std::string(take(size)));
  }

  void read_symbol(std::string& open) {
    static constexpr std::string_view kSymbols[] = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    const auto* found =
        std::find_if(std::begin(kSymbols), std::end(kSymbols),
                     [&](std::string_view symbol) { return rest_.starts_with(symbol); });
    if (found == std::end(kSymbols)) {
      const auto size = static_cast<std::size_t>(first_character(rest_).length);
      fail_at(line_, concat_text("unexpected character '", escaped(rest_.substr(0, size)), "'"));
    }
    constexpr std::string_view kOpening = "([{";
    constexpr std::string_view kClosing = ")]}";
    if (const std::size_t kind = kClosing.find(*found); kind != std::string_view::npos) {
      if (open.empty() || open.back() != kOpening[kind]) {
        fail_at(line_, concat_text("unexpected '", *found, "'"));
      }
      open.pop_back();
    } else if (kOpening.find(*found) != std::string_view::npos) {
      open += *found;
    }
    add(TokenKind::symbol, std::string(*found));
    take(found->size());
  }

  // Returns the size of the digits from `at`, which may contain _ between them.
  std::size_t digits_end(std::size_t at) const {
    while (at < rest_.size() &&
           (is_digit(rest_[at]) || (rest_[at] == '_' && at + 1 < rest_.size() &&
                                    is_digit(rest_[at + 1]) && is_digit(rest_[at - 1])))) {
      ++at;
    }
    return at;
  }

  void read_number_token() {
    std::size_t end = digits_end(0);
    TokenKind kind = TokenKind::integer;
    const bool after_dot = !tokens_.empty() && tokens_.back().text == ".";
    const auto digit_at = [&](std::size_t at) { return at < rest_.size() && is_digit(rest_[at]); };
    if (!after_dot && end < rest_.size() && rest_[end] == '.' && digit_at(end + 1)) {
      kind = TokenKind::number;
      end = digits_end(end + 1);
    }
    if (!after_dot && end < rest_.size() && (rest_[end] | 0x20) == 'e') {
      const std::size_t sign_size =
          end + 1 < rest_.size() && (rest_[end + 1] == '+' || rest_[end + 1] == '-') ? 1 : 0;
      if (digit_at(end + 1 + sign_size)) {
        kind = TokenKind::number;
        end = digits_end(end + 1 + sign_size);
      }
    }
    std::string digits(take(end));
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    add(kind, digits);
  }

  void read_string() {
    const std::size_t line = line_;
    const char quote = take(1)[0];
    std::string text;
    while (!rest_.empty() && rest_[0] != quote) {
      if (rest_[0] == '\\') {
        take(1);
        read_escape(text);
      } else {
        const std::size_t end =
            std::min(rest_.find_first_of(quote == '"' ? "\"\\" : "'\\"), rest_.size());
        text += take(end);
      }
    }
    if (rest_.empty()) {
      fail_at(line, "a text has no end");
    }
    take(1);
    add(TokenKind::string, std::move(text));
  }

  void read_escape(std::string& text) {
    if (rest_.empty()) {
      return;
    }
    constexpr std::string_view kNames = "\\'\"abfnrtv";
    constexpr std::string_view kValues = "\\'\"\a\b\f\n\r\t\v";
    const char name = rest_[0];
    if (const std::size_t position = kNames.find(name); position != std::string_view::npos) {
      take(1);
      text += kValues[position];
    } else if (name == '\n') {
      take(1);
    } else if (name == 'x' || name == 'u' || name == 'U') {
      take(1);
      append_code(text, name == 'x' ? 2 : name == 'u' ? 4 : 8, 16);
    } else if (name >= '0' && name <= '7') {
      const std::size_t size = std::min<std::size_t>(rest_.find_first_not_of("01234567"), 3);
      append_code(text, std::min(size, rest_.size()), 8);
    } else {
      text += '\\';
    }
  }

  void append_code(std::string& text, std::size_t size, char32_t base) {
    char32_t code = 0;
    for (const char digit : rest_.substr(0, size)) {
      const std::size_t value =
          std::string_view("0123456789abcdef")
              .find(digit >= 'A' && digit <= 'F' ? static_cast<char>(digit + 32) : digit);
      code = value < base ? code * base + static_cast<char32_t>(value) : 0x7FFFFFFF;
      if (code > 0x10FFFF) {
        break;
      }
    }
    if (rest_.size() < size || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      fail_at(line_, "an escape in a text names no character");
    }
    append_utf8(code, text);
    take(size);
  }

  std::string source_;
  std::string_view rest_;
  std::size_t line_ = 1;
  bool after_line_end_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Lexer(source).tokens(); }

}  // namespace headlight::jinja
