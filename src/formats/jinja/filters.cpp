#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/read_number.h"
#include "formats/jinja/print.h"
#include "formats/jinja/runtime.h"
#include "formats/jinja/text_case.h"

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
  std::string out;
  bool is_start = true;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Character character = first_character(rest);
    const std::string_view bytes = rest.substr(0, static_cast<std::size_t>(character.length));
    out += is_start ? upper_text(bytes) : lower_case(bytes);
    is_start = is_space(character.code_point) ||
               std::string_view("-({[<").find(bytes) != std::string_view::npos;
    rest.remove_prefix(bytes.size());
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

Value to_int(const Call& call) {
  const Value& input = call.self.defined();
  const Value otherwise = call.value_or(0, Value(std::int64_t{0}));
  if (input.is_text()) {
    std::string_view digits = stripped(input.text(), Side::both);
    digits.remove_prefix(digits.starts_with('+') ? 1 : 0);
    const int base = static_cast<int>(call.whole_or(1, 10));
    require(base == 10, "int: expected base 10, got ", base);
    if (const auto whole = read_number<std::int64_t>(digits)) {
      return Value(*whole);
    }
    const auto number = read_number<double>(digits);
    return number && std::abs(*number) < 9e18 ? Value(static_cast<std::int64_t>(*number))
                                              : otherwise;
  }
  if (!input.is_number() || (input.is_float() && !(std::abs(input.number()) < 9e18))) {
    return otherwise;
  }
  return Value(input.is_whole() ? input.whole() : static_cast<std::int64_t>(input.number()));
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
  return is_negative ? arithmetic(call.runtime, "-", Value(std::int64_t{0}), input) : input;
}

// Returns the number that the decimal text with so many digits has.
double rounded_decimal(double number, int digits) {
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                 std::chars_format::fixed, digits)
                       .ptr;
  return *read_number<double>(
      std::string_view(text.data(), static_cast<std::size_t>(end - text.data())));
}

Value round_filter(const Call& call) {
  const std::int64_t digits = call.whole_or(0, 0);
  const std::string method = call.text_or(1, "common");
  const double number = call.self.defined().number();
  const double factor =
      std::pow(10.0, static_cast<double>(std::clamp<std::int64_t>(digits, -300, 300)));
  if (method == "common") {
    // Python rounds the decimal text, half to even.
    return std::abs(number) < 1e15 && digits >= 0 && digits < 16
               ? Value(rounded_decimal(number, static_cast<int>(digits)))
               : Value(std::nearbyint(number * factor) / factor);
  }
  require(method == "ceil" || method == "floor", "round: expected common, ceil or floor");
  return Value((method == "ceil" ? std::ceil(number * factor) : std::floor(number * factor)) /
               factor);
}

Value safe(const Call& call) { return Value::text(call.budget(), input_text(call), true); }

Value escape(const Call& call) {
  return call.self.is_safe_text()
             ? call.self
             : Value::text(call.budget(), html_text(call.budget(), input_text(call)), true);
}

Value format_filter(const Call& call) {
  return call.runtime.text(percent_format(call.runtime, input_text(call), call.all));
}

}  // namespace

std::span<const Function> filters() {
  static constexpr Function kFilters[] = {
      {"trim", "chars", 0, trim},
      {"upper", "", 0, case_filter<upper_text>},
      {"lower", "", 0, case_filter<lower_case>},
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
  };
  return kFilters;
}

}  // namespace headlight::jinja
