#include "formats/jinja/print.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "headlight/base/utf8.h"

namespace headlight::jinja {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

void append_escape(std::string& out, std::string_view start, std::uint32_t code, int digits) {
  out += start;
  for (int digit = digits - 1; digit >= 0; --digit) {
    out += kHex[(code >> (4 * digit)) & 15U];
  }
}

// Control and format characters, separators and private use, which repr() of Python escapes.
bool is_invisible(char32_t code) {
  struct Run {
    char32_t first, last;
  };
  static constexpr Run kRuns[] = {
      {0x0, 0x1F},        {0x7F, 0xA0},     {0xAD, 0xAD},     {0x600, 0x605},   {0x61C, 0x61C},
      {0x6DD, 0x6DD},     {0x70F, 0x70F},   {0x890, 0x891},   {0x8E2, 0x8E2},   {0x1680, 0x1680},
      {0x180E, 0x180E},   {0x2000, 0x200F}, {0x2028, 0x202F}, {0x205F, 0x206F}, {0x3000, 0x3000},
      {0xD800, 0xF8FF},   {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF}, {0xE0000, 0xE0FFF},
      {0xF0000, 0x10FFFF}};
  return std::any_of(std::begin(kRuns), std::end(kRuns),
                     [&](const Run& run) { return run.first <= code && code <= run.last; });
}

void append_quoted_character(std::string& out, char32_t code, std::string_view bytes, char quote) {
  constexpr std::string_view kNamed = "\n\r\t\\";
  const std::size_t named = code < 0x80 ? kNamed.find(static_cast<char>(code)) : std::string::npos;
  if (named != std::string::npos) {
    out += '\\';
    out += "nrt\\"[named];
  } else if (code == static_cast<char32_t>(quote)) {
    out += '\\';
    out += quote;
  } else if (!is_invisible(code)) {
    out += bytes;
  } else if (code < 0x100) {
    append_escape(out, "\\x", code, 2);
  } else if (code < 0x10000) {
    append_escape(out, "\\u", code, 4);
  } else {
    append_escape(out, "\\U", code, 8);
  }
}

std::string quoted_python(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    append_quoted_character(out, character.code_point,
                            text.substr(0, static_cast<std::size_t>(character.length)), quote);
    text.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return out + quote;
}

void append_json_character(std::string& out, char32_t code, std::string_view bytes, bool ascii) {
  constexpr std::string_view kNamed = "\"\\\n\r\t\f\b";
  const std::size_t named = code < 0x80 ? kNamed.find(static_cast<char>(code)) : std::string::npos;
  if (named != std::string::npos) {
    out += '\\';
    out += "\"\\nrtfb"[named];
  } else if (code >= 0x10000 && ascii) {
    append_escape(out, "\\u", 0xD7C0 + (code >> 10U), 4);
    append_escape(out, "\\u", 0xDC00 + (code & 0x3FFU), 4);
  } else if (code < 0x20 || (code >= 0x80 && ascii)) {
    append_escape(out, "\\u", code, 4);
  } else {
    out += bytes;
  }
}

std::string quoted_json(std::string_view text, bool ascii) {
  std::string out = "\"";
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    append_json_character(out, character.code_point,
                          text.substr(0, static_cast<std::size_t>(character.length)), ascii);
    text.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return out + '"';
}

// Writes nested values; counts every piece.
class PythonWriter {
 public:
  explicit PythonWriter(Budget& budget) : budget_(budget) {}

  void add(std::string_view piece) {
    budget_.spend(piece.size());
    out_ += piece;
  }

  void write(const Value& value) {
    budget_.step();
    if (value.is_text()) {
      budget_.spend(value.text().size());
      return add(quoted_python(value.text()));
    }
    if (value.is_list()) {
      return write_list(value.list());
    }
    if (value.is_dict()) {
      return write_dict(value.dict());
    }
    add(value.is_undefined() ? "Undefined" : printed(budget_, value));
  }

  std::string take() { return std::move(out_); }

 private:
  void write_list(const List& list) {
    require(list.kind != ListKind::generator, "a generator cannot be printed: use | list");
    if (list.kind == ListKind::range) {
      const auto [start, stop, step] = list.range;
      return add(concat_text("range(", start, ", ", stop, step == 1 ? "" : ", ",
                             step == 1 ? "" : std::to_string(step), ")"));
    }
    const bool is_view = list.kind == ListKind::view;
    const bool is_tuple = is_tuple_kind(list.kind);
    add(is_view ? list.name + "(" : "");
    add(is_tuple ? "(" : "[");
    for (std::size_t i = 0; i < list.values.size(); ++i) {
      add(i == 0 ? "" : ", ");
      write(list.values[i]);
    }
    add(is_tuple ? (list.values.size() == 1 ? ",)" : ")") : "]");
    add(is_view ? ")" : "");
  }

  void write_dict(const Dict& dict) {
    add("{");
    for (std::size_t i = 0; i < dict.members.size(); ++i) {
      add(i == 0 ? "" : ", ");
      write(dict.members[i].first);
      add(": ");
      write(dict.members[i].second);
    }
    add("}");
  }

  Budget& budget_;
  std::string out_;
};

class JsonWriter {
 public:
  JsonWriter(Budget& budget, const JsonStyle& style) : budget_(budget), style_(style) {}

  void write(const Value& value) {
    budget_.step();
    if (value.is_text()) {
      return add_text(value.text());
    }
    if (value.is_dict()) {
      return write_dict(value.dict());
    }
    if (value.is_list() && value.list().kind < ListKind::range) {
      return write_list(value.list().values);
    }
    add(scalar(value));
  }

  std::string take() { return std::move(out_); }

 private:
  std::string scalar(const Value& value) {
    if (value.is_float()) {
      const double number = value.number();
      const std::string text = float_text(number);
      return std::isnan(number)   ? "NaN"
             : std::isinf(number) ? (number > 0 ? "Infinity" : "-Infinity")
                                  : text;
    }
    require(value.is_none() || value.is_whole() || value.is_big(), "a value of type ",
            value.type_name(), " is not JSON");
    return value.is_none()      ? "null"
           : value.is_big()     ? value.digits()
           : value.is_integer() ? std::to_string(value.whole())
                                : (value.is_true() ? "true" : "false");
  }

  void add(std::string_view piece) {
    budget_.spend(piece.size());
    out_ += piece;
  }

  void add_text(const std::string& text) {
    budget_.spend(text.size());
    add(quoted_json(text, style_.ensure_ascii));
  }

  // Begins an element, or ends a list (`is_end`), on a line of its own if there is an indent.
  void begin_line(bool is_first, bool is_end) {
    add(is_first || is_end ? "" : style_.comma);
    if (style_.indent) {
      add("\n");
      for (std::size_t i = 0; i < depth_; ++i) {
        add(*style_.indent);
      }
    }
  }

  template <class List, class Write>
  void write_all(const List& list, std::string_view brackets, const Write& write_one) {
    add(brackets.substr(0, 1));
    if (!list.empty()) {
      ++depth_;
      bool is_first = true;
      for (const auto& element : list) {
        begin_line(is_first, false);
        is_first = false;
        write_one(element);
      }
      --depth_;
      begin_line(false, true);
    }
    add(brackets.substr(1));
  }

  void write_list(const Values& values) {
    write_all(values, "[]", [&](const Value& value) { write(value); });
  }

  void write_dict(const Dict& dict) {
    auto members = dict.members;
    budget_.spend(members.size(), sizeof(members.front()));
    if (style_.sort_keys) {
      std::stable_sort(members.begin(), members.end(), [&](const auto& a, const auto& b) {
        return less(budget_, a.first, b.first);
      });
    }
    write_all(members, "{}", [&](const auto& member) {
      add_text(member.first.is_text() ? member.first.text() : scalar(member.first));
      add(style_.colon);
      write(member.second);
    });
  }

  Budget& budget_;
  const JsonStyle& style_;
  std::size_t depth_ = 0;
  std::string out_;
};

}  // namespace

std::string float_text(double number) {
  if (!std::isfinite(number)) {
    return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
  }
  std::array<char, 512> text;
  const double size = std::abs(number);
  const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto format = is_plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number, format).ptr;
  std::string result(text.data(), end);
  return is_plain && result.find('.') == std::string::npos ? result + ".0" : result;
}

std::string printed(Budget& budget, const Value& value) {
  if (value.is_text()) {
    budget.spend(value.text().size());
    return value.text();
  }
  if (value.is_number() || value.is_none() || value.is_undefined()) {
    return value.is_undefined() ? ""
           : value.is_none()    ? "None"
           : value.is_float()   ? float_text(value.number())
           : value.is_big()     ? value.digits()
           : value.is_integer() ? std::to_string(value.whole())
                                : (value.is_true() ? "True" : "False");
  }
  require(!value.is_object(), "a ", value.type_name(), " cannot be printed");
  return quoted(budget, value);
}

std::string html_text(Budget& budget, std::string_view text) {
  std::string out;
  for (const char c : text) {
    budget.spend(5);
    out += c == '&'    ? "&amp;"
           : c == '<'  ? "&lt;"
           : c == '>'  ? "&gt;"
           : c == '"'  ? "&#34;"
           : c == '\'' ? "&#39;"
                       : std::string(1, c);
  }
  return out;
}

std::string quoted(Budget& budget, const Value& value) {
  PythonWriter writer(budget);
  writer.write(value);
  return writer.take();
}

std::string json_text(Budget& budget, const Value& value, const JsonStyle& style) {
  JsonWriter writer(budget, style);
  writer.write(value);
  return writer.take();
}

}  // namespace headlight::jinja
