#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/strings/read_number.h"
#include "formats/jinja/print.h"
#include "formats/jinja/runtime.h"
#include "formats/jinja/text_case.h"
#include "formats/jinja/words.h"

// Filters on one value: value | NAME.
namespace headlight::jinja {
namespace {

std::string input_text(const Call& call) { return printed(call.budget(), call.self); }

template <std::string (*kChange)(std::string_view)>
Value case_filter(const Call& call) {
  return call.runtime.text(kChange(input_text(call)));
}

// Capitalises the words between white space, hyphens and opening brackets.
std::string title_words(std::string_view text) {
  const auto is_inside = [](char32_t c) {
    return !is_space(c) && std::u32string_view(U"-({[<").find(c) == std::u32string_view::npos;
  };
  std::string out;
  while (!text.empty()) {
    const std::string_view after = stripped_of(text, Side::left, is_inside);
    const std::string_view word = text.substr(0, text.size() - after.size());
    const std::size_t first =
        word.empty() ? 0 : static_cast<std::size_t>(first_character(word).length);
    const std::size_t between =
        after.empty() ? 0 : static_cast<std::size_t>(first_character(after).length);
    out += upper_text(word.substr(0, first)) + lower_text(word.substr(first));
    out += after.substr(0, between);
    text = after.substr(between);
  }
  return out;
}

Value trim(const Call& call) {
  return call.runtime.text(stripped_by(call, input_text(call), Side::both));
}

Value replace_filter(const Call& call) {
  const std::int64_t most = call.given(2) && !call.value(2).is_none() ? call.value(2).whole() : -1;
  return call.runtime.text(replaced(call.budget(), input_text(call),
                                    printed(call.budget(), call.value(0)),
                                    printed(call.budget(), call.value(1)), most));
}

Value default_filter(const Call& call) {
  const bool is_missing =
      call.self.is_undefined() || (call.flag_or(1, false) && !call.self.is_true());
  return is_missing ? call.value_or(0, call.runtime.text("")) : call.self;
}

Value to_json(const Call& call) {
  JsonStyle style{.ensure_ascii = call.flag_or(0, false), .sort_keys = call.flag_or(3, false)};
  if (call.given(1) && !call.value(1).is_none()) {
    const bool is_text = call.value(1).is_text();
    const std::int64_t blanks = is_text ? 0 : std::max<std::int64_t>(call.value(1).whole(), 0);
    require(blanks <= 1000, "tojson: expected an indent of at most 1000, got ", blanks);
    style.indent = is_text ? call.text(1) : std::string(static_cast<std::size_t>(blanks), ' ');
    style.comma = ",";
  }
  if (call.given(2) && !call.value(2).is_none()) {
    require(call.value(2).is_list() && call.value(2).list().values.size() == 2,
            "tojson: expected two separators");
    style.comma = call.value(2).list().values[0].text();
    style.colon = call.value(2).list().values[1].text();
  }
  return call.runtime.text(json_text(call.budget(), call.self, style));
}

Value indent(const Call& call) {
  const bool is_text = call.given(0) && call.value(0).is_text();
  const std::int64_t blanks = is_text ? 0 : call.whole_or(0, 4);
  require(blanks <= 1000, "indent: expected at most 1000, got ", blanks);
  const std::string margin =
      is_text ? call.text(0)
              : std::string(static_cast<std::size_t>(std::max<std::int64_t>(blanks, 0)), ' ');
  const bool blank_lines = call.flag_or(2, false);
  const std::string text = input_text(call);
  std::string out = call.flag_or(1, false) ? margin : "";
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = std::string_view(text).substr(start, end - start);
    call.budget().spend(margin.size() + line.size() + 1);
    out += start == 0 || (line.empty() && !blank_lines) ? "" : margin;
    out += line;
    out += end < text.size() ? "\n" : "";
    start = end + 1;
  }
  return call.runtime.text(std::move(out));
}

// Returns a number without its fraction, of any size; `fallback` if it is not finite.
Value whole_part(const Call& call, double number, const Value& fallback) {
  if (std::abs(number) < 9e18) {
    return Value(static_cast<std::int64_t>(number));
  }
  if (!std::isfinite(number)) {
    return fallback;
  }
  std::array<char, 400> digits{};  // the largest number has 309
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                 std::chars_format::fixed, 0)
                       .ptr;
  return Value::whole_number(call.budget(), std::string(digits.data(), end));
}

Value to_int(const Call& call) {
  const Value& input = call.self.defined();
  const Value fallback = call.value_or(0, Value(std::int64_t{0}));
  if (input.is_text()) {
    std::string_view digits = stripped(input.text(), Side::both);
    digits.remove_prefix(digits.starts_with('+') ? 1 : 0);
    const int base = static_cast<int>(call.whole_or(1, 10));
    require(base == 10, "int: expected base 10, got ", base);
    const bool is_whole = digits.find_first_not_of("0123456789", digits.starts_with('-') ? 1 : 0) ==
                              std::string_view::npos &&
                          digits.size() > (digits.starts_with('-') ? 1U : 0U);
    if (is_whole) {
      return Value::whole_number(call.budget(), std::string(digits));
    }
    const auto number = read_number<double>(digits);
    return number ? whole_part(call, *number, fallback) : fallback;
  }
  if (input.is_big()) {
    return input;
  }
  if (!input.is_number()) {
    return fallback;
  }
  return input.is_whole() ? Value(input.whole()) : whole_part(call, input.number(), fallback);
}

Value to_float(const Call& call) {
  const Value& input = call.self.defined();
  if (input.is_text()) {
    std::string_view digits = stripped(input.text(), Side::both);
    digits.remove_prefix(digits.starts_with('+') ? 1 : 0);
    const auto number = read_number<double>(digits);
    return number ? Value(*number) : call.value_or(0, Value(0.0));
  }
  return input.is_number() ? Value(input.number()) : call.value_or(0, Value(0.0));
}

Value absolute(const Call& call) {
  const Value& input = call.self;
  const bool is_negative = input.defined().number() < 0;
  if (is_negative && input.is_big()) {
    return Value::whole_number(call.budget(), input.digits().substr(1));
  }
  return is_negative ? arithmetic(call.runtime, "-", Value(std::int64_t{0}), input) : input;
}

// Returns the number that the decimal text with so many digits has.
double rounded_decimal(double number, int digits) {
  std::array<char, 1024> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                 std::chars_format::fixed, digits)
                       .ptr;
  return *read_number<double>(
      std::string_view(text.data(), static_cast<std::size_t>(end - text.data())));
}

// Rounds to a multiple of `unit`, half to even.
template <class Number, class Rest>
Number rounded_to(Number number, Number unit, const Rest& rest_of) {
  const Number rest = rest_of(number, unit);  // with the sign of the number
  const Number size = rest < 0 ? -rest : rest;
  const Number down = number - rest;
  const bool is_odd = rest_of(down / unit, Number{2}) != 0;
  const bool is_up = size > unit - size || (size == unit - size && is_odd);
  return is_up ? down + (number < 0 ? -unit : unit) : down;
}

// Returns round(value, digits) of Python: a whole number stays one.
Value rounded(const Value& value, std::int64_t digits) {
  constexpr std::int64_t kMostDecimals = 330;
  if (value.is_big() && digits >= 0) {
    return value;
  }
  if (value.is_whole()) {
    std::int64_t unit = 1;
    for (std::int64_t i = digits; i < 0; ++i) {
      if (__builtin_mul_overflow(unit, std::int64_t{10}, &unit)) {
        return Value(std::int64_t{0});  // less than half of the unit, or not whole in 64 bits
      }
    }
    return Value(rounded_to(value.whole(), unit, [](auto a, auto b) { return a % b; }));
  }
  const double number = value.number();
  if (!std::isfinite(number) || digits >= kMostDecimals) {
    return Value(number);
  }
  return digits >= 0 ? Value(rounded_decimal(number, static_cast<int>(digits)))
                     : Value(digits < -308
                                 ? std::copysign(0.0, number)
                                 : rounded_to(number, std::pow(10.0, -digits),
                                              [](double a, double b) { return std::fmod(a, b); }));
}

Value round_filter(const Call& call) {
  const std::int64_t digits = call.whole_or(0, 0);
  const std::string method = call.text_or(1, "common");
  const Value& value = call.self.defined();
  if (method == "common") {
    return rounded(value, digits);
  }
  require(method == "ceil" || method == "floor", "round: expected common, ceil or floor");
  const double factor =
      std::pow(10.0, static_cast<double>(std::clamp<std::int64_t>(digits, -300, 300)));
  const double number = value.number() * factor;
  return Value((method == "ceil" ? std::ceil(number) : std::floor(number)) / factor);
}

Value safe(const Call& call) { return Value::text(call.budget(), input_text(call), true); }

Value escape(const Call& call) {
  return call.self.is_safe_text()
             ? call.self
             : Value::text(call.budget(), html_text(call.budget(), input_text(call)), true);
}

Value format_filter(const Call& call) {
  Dict named;
  for (const auto& [name, value] : call.all.named) {
    named.set(call.budget(), call.runtime.text(name), value);
  }
  return call.runtime.text(percent_format(call.runtime, input_text(call), call.all.values,
                                          named.members.empty() ? nullptr : &named));
}

// Returns the size of the first characters in bytes.
std::size_t bytes_of_first(std::string_view text, std::int64_t characters) {
  std::size_t end = 0;
  for (; characters > 0 && end < text.size(); --characters) {
    end += static_cast<std::size_t>(first_character(text.substr(end)).length);
  }
  return end;
}

Value truncate(const Call& call) {
  const std::string text = input_text(call);
  const std::int64_t length = call.whole_or(0, 255);
  const std::string end = call.text_or(2, "...");
  const bool has_leeway = call.given(3) && !call.value(3).is_none();
  const std::int64_t leeway = has_leeway ? call.value(3).whole() : 5;
  const std::int64_t kept = length - character_count(end);
  require(kept >= 0, "truncate: expected a length of at least that of the end, got ", length);
  require(leeway >= 0, "truncate: expected a leeway from 0, got ", leeway);
  if (std::int64_t{character_count(text)} - leeway <= length) {
    return call.runtime.text(text);
  }
  std::string_view start = std::string_view(text).substr(0, bytes_of_first(text, kept));
  if (!call.flag_or(1, false)) {
    start = start.substr(0, std::min(start.rfind(' '), start.size()));
  }
  return call.runtime.text(std::string(start) + end);
}

Value count_words(const Call& call) {
  std::int64_t count = 0;
  bool is_inside = false;
  const std::string text = input_text(call);
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Character character = first_character(rest);
    const bool is_word = is_letter_or_number(character.code_point) || character.code_point == U'_';
    count += is_word && !is_inside ? 1 : 0;
    is_inside = is_word;
    rest.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return Value(count);
}

Value center(const Call& call) {
  const std::string text = input_text(call);
  const std::int64_t width = call.whole_or(0, 80);
  require(width <= 100'000, "center: expected a width of at most 100000, got ", width);
  const std::int64_t missing = std::max<std::int64_t>(width - character_count(text), 0);
  const std::int64_t left = missing / 2 + (missing & width & 1);  // as in Python
  return call.runtime.text(std::string(static_cast<std::size_t>(left), ' ') + text +
                           std::string(static_cast<std::size_t>(missing - left), ' '));
}

Value force_escape(const Call& call) {
  return Value::text(call.budget(), html_text(call.budget(), input_text(call)), true);
}

// Writes bytes other than letters, digits and "_.-~/" as %41.
Value url_encode(const Call& call) {
  constexpr std::string_view kHexDigits = "0123456789ABCDEF";
  constexpr std::string_view kSafe = "_.-~/";
  std::string out;
  for (const char c : input_text(call)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || kSafe.find(c) != std::string_view::npos;
    call.budget().spend(3);
    out += is_safe ? std::string(1, c)
                   : std::string{'%', kHexDigits[byte >> 4U], kHexDigits[byte & 15U]};
  }
  return call.runtime.text(std::move(out));
}

}  // namespace

std::span<const Function> filters() {
  static constexpr Function kFilters[] = {
      {"trim", "chars", 0, trim},
      {"upper", "", 0, case_filter<upper_text>},
      {"lower", "", 0, case_filter<lower_text>},
      {"capitalize", "", 0, case_filter<capitalized_text>},
      {"title", "", 0, case_filter<title_words>},
      {"replace", "old new count", 2, replace_filter},
      {"default", "default_value boolean", 0, default_filter},
      {"d", "default_value boolean", 0, default_filter},
      {"tojson", "ensure_ascii indent separators sort_keys", 0, to_json},
      {"indent", "width first blank", 0, indent},
      {"string", "", 0, [](const Call& call) { return call.runtime.text(input_text(call)); }},
      {"safe", "", 0, safe},
      {"escape", "", 0, escape},
      {"e", "", 0, escape},
      {"int", "default base", 0, to_int},
      {"float", "default", 0, to_float},
      {"abs", "", 0, absolute},
      {"round", "precision method", 0, round_filter},
      {"format", "*", 0, format_filter},
      {"truncate", "length killwords end leeway", 0, truncate},
      {"wordcount", "", 0, count_words},
      {"center", "width", 0, center},
      {"forceescape", "", 0, force_escape},
      {"urlencode", "", 0, url_encode},
  };
  return kFilters;
}

}  // namespace headlight::jinja
