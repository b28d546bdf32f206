#pragma once

#include <optional>
#include <string>

#include "formats/jinja/value.h"

namespace headlight::jinja {

// Options of json.dumps in Python.
struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent = {};  // of one level; empty: one line
  std::string comma = ", ";
  std::string colon = ": ";
};

// Return the text of a value as str(), repr() and json.dumps() of Python do. Throw Error for
// values that have none: objects and generators, and in JSON also undefined values.
std::string printed(Budget& budget, const Value& value);
std::string quoted(Budget& budget, const Value& value);
std::string json_text(Budget& budget, const Value& value, const JsonStyle& style);
// Returns the text with the five special characters of HTML escaped.
std::string html_text(Budget& budget, std::string_view text);
// Returns a number as repr() of Python does: 1.0, 1e+16, inf.
std::string float_text(double number);

}  // namespace headlight::jinja
