#include <array>
#include <charconv>
#include <cmath>

#include "base/strings/read_number.h"
#include "formats/jinja/print.h"
#include "formats/jinja/runtime.h"
#include "headlight/base/utf8.h"

// Formats of Python: "%.2f" % value and "{:.2f}".format(value).
namespace headlight::jinja {
namespace {

constexpr std::int64_t kWidest = 10'000;
constexpr std::int64_t kFinestPrecision = 340;
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kFloatTypes = "eEfFgG%";
constexpr std::string_view kWholeTypes = "dxXob";

struct Spec {
  std::string fill = " ";
  char align = '\0';  // < > ^, = for fill behind the sign; '\0': by type
  char sign = '-';    // + and blank: also before positive numbers
  bool has_prefix = false;
  bool has_commas = false;
  std::size_t width = 0;
  std::int64_t precision = -1;
  char type = '\0';
};

// Removes the first character if it is one of `wanted`, and returns it.
char take_one_of(std::string_view& text, std::string_view wanted) {
  const bool has_it = !text.empty() && wanted.find(text[0]) != std::string_view::npos;
  const char taken = has_it ? text[0] : '\0';
  text.remove_prefix(has_it ? 1 : 0);
  return taken;
}

// Removes digits; returns -1 if there are none.
std::int64_t take_number(std::string_view& text, std::int64_t most) {
  const std::string_view digits =
      text.substr(0, std::min(text.find_first_not_of(kDigits), text.size()));
  const auto number = read_number<std::int64_t>(digits);
  require(digits.empty() || (number && *number <= most), "a format has a width or precision above ",
          most);
  text.remove_prefix(digits.size());
  return digits.empty() ? -1 : *number;
}

std::string decimal_text(double number, std::chars_format format, std::int64_t precision) {
  std::array<char, 1024> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number, format,
                                 static_cast<int>(precision))
                       .ptr;
  return {text.data(), end};
}

// Returns the text of a finite number that is not negative.
std::string float_body(double number, const Spec& spec) {
  const char type = static_cast<char>(spec.type | 0x20);
  const std::int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  std::string text = decimal_text(spec.type == '%' ? 100 * number : number,
                                  type == 'e'   ? std::chars_format::scientific
                                  : type == 'g' ? std::chars_format::general
                                                : std::chars_format::fixed,
                                  precision);
  text += spec.type == '%' ? "%" : "";
  return text;
}

// Returns the digits of a whole number without its sign; parts of others are cut off.
std::string whole_body(const Value& value, const Spec& spec) {
  if (spec.type == 'd' && value.is_big()) {
    return value.digits().substr(value.digits()[0] == '-' ? 1 : 0);
  }
  if (spec.type == 'd' && value.is_float()) {
    require(std::isfinite(value.number()), "a number that is not finite has no whole part");
    return decimal_text(std::trunc(std::abs(value.number())), std::chars_format::fixed, 0);
  }
  const std::int64_t whole = value.whole();
  const auto size =
      whole < 0 ? 0 - static_cast<std::uint64_t>(whole) : static_cast<std::uint64_t>(whole);
  const int base = spec.type == 'd' ? 10 : spec.type == 'o' ? 8 : spec.type == 'b' ? 2 : 16;
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), size, base).ptr;
  const std::string prefix =
      spec.has_prefix && spec.type != 'd' ? std::string("0") + spec.type : "";
  return prefix + std::string(text.data(), end);
}

void add_commas(std::string& digits) {
  const std::size_t end = std::min(digits.find_first_not_of(kDigits), digits.size());
  for (std::size_t position = end; position > 3;) {
    position -= 3;
    digits.insert(position, ",");
  }
}

std::string padded(const Spec& spec, std::string_view sign, const std::string& body,
                   char default_alignment) {
  const auto size = static_cast<std::size_t>(character_count(body)) + sign.size();
  const std::size_t missing = spec.width - std::min(spec.width, size);
  const char align = spec.align == '\0' ? default_alignment : spec.align;
  const std::size_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string out(align == '=' ? sign : "");
  for (std::size_t i = 0; i < left; ++i) {
    out += spec.fill;
  }
  out += concat_text(align == '=' ? "" : sign, body);
  for (std::size_t i = left; i < missing; ++i) {
    out += spec.fill;
  }
  return out;
}

std::string number_text(const Value& value, const Spec& spec) {
  const double number = value.defined().number();
  const bool is_negative = std::signbit(number);
  const std::string sign = is_negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  std::string body;
  if (kWholeTypes.find(spec.type) != std::string_view::npos) {
    body = whole_body(value, spec);
  } else {
    body = std::isfinite(number) ? float_body(std::abs(number), spec)
           : std::isnan(number)  ? "nan"
                                 : "inf";
  }
  if (spec.has_commas) {
    add_commas(body);
  }
  for (char& c : body) {
    const bool is_raised = spec.type >= 'A' && spec.type <= 'Z' && c >= 'a' && c <= 'z';
    c = is_raised ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return padded(spec, sign, body, '>');
}

// Returns the first `most` characters; all if `most` is negative.
std::string cut_text(std::string text, std::int64_t most) {
  std::size_t end = 0;
  for (std::int64_t i = 0; i < most && end < text.size(); ++i) {
    end += static_cast<std::size_t>(first_character(std::string_view(text).substr(end)).length);
  }
  text.resize(most < 0 ? text.size() : end);
  return text;
}

bool formats_number(const Spec& spec) {
  return kFloatTypes.find(spec.type) != std::string_view::npos ||
         kWholeTypes.find(spec.type) != std::string_view::npos;
}

// --- "%.2f" -------------------------------------------------------------------------------------

// Reads a placeholder behind its name, such as "-5.2f".
Spec read_placeholder(std::string_view& pattern) {
  Spec spec;
  bool has_zeros = false;
  while (const char flag = take_one_of(pattern, "-+ 0#")) {
    spec.align = flag == '-' ? '<' : spec.align;
    spec.sign = flag == '+' || (flag == ' ' && spec.sign == '-') ? flag : spec.sign;
    has_zeros = has_zeros || flag == '0';
    spec.has_prefix = spec.has_prefix || flag == '#';
  }
  spec.width = static_cast<std::size_t>(std::max<std::int64_t>(take_number(pattern, kWidest), 0));
  if (take_one_of(pattern, ".") != '\0') {
    spec.precision = std::max<std::int64_t>(take_number(pattern, kFinestPrecision), 0);
  }
  const char type = take_one_of(pattern, "diuoxXeEfFgGsr");
  require(type != '\0', "a format supports only %s, %r, %d, %i, %u, %o, %x, %e, %f, %g and %%");
  spec.type = type == 'i' || type == 'u' ? 'd' : type;
  if (has_zeros && spec.align == '\0' && formats_number(spec)) {
    spec.align = '=';
    spec.fill = "0";
  }
  return spec;
}

// Returns the name in "(name)" at the beginning of a placeholder; nothing if there is none.
std::optional<std::string_view> take_name(std::string_view& pattern) {
  if (!pattern.starts_with('(')) {
    return std::nullopt;
  }
  const std::size_t end = pattern.find(')');
  require(end != std::string_view::npos, "a format ends within a placeholder");
  const std::string_view name = pattern.substr(1, end - 1);
  pattern.remove_prefix(end + 1);
  return name;
}

// --- "{:.2f}" -----------------------------------------------------------------------------------

// Reads "[[fill]align][sign][#][0][width][,][.precision][type]".
Spec read_spec(std::string_view text) {
  Spec spec;
  constexpr std::string_view kAligns = "<>^=";
  const std::size_t first =
      text.empty() ? 0 : static_cast<std::size_t>(first_character(text).length);
  if (first < text.size() && kAligns.find(text[first]) != std::string_view::npos) {
    spec.fill = text.substr(0, first);
    text.remove_prefix(first);
  }
  spec.align = take_one_of(text, kAligns);
  const char sign = take_one_of(text, "-+ ");
  spec.sign = sign == '\0' ? '-' : sign;
  spec.has_prefix = take_one_of(text, "#") != '\0';
  if (spec.align == '\0' && text.starts_with('0')) {
    spec.align = '=';
    spec.fill = "0";
  }
  spec.width = static_cast<std::size_t>(std::max<std::int64_t>(take_number(text, kWidest), 0));
  spec.has_commas = take_one_of(text, ",") != '\0';
  if (take_one_of(text, ".") != '\0') {
    spec.precision = take_number(text, kFinestPrecision);
    require(spec.precision >= 0, "format: expected digits after '.'");
  }
  spec.type = take_one_of(text, "bdoxXeEfFgG%s");
  require(text.empty(), "format: expected a format such as .2f or >8, got one with '", text, "'");
  return spec;
}

std::string field_text(Runtime& runtime, const Value& value, Spec spec) {
  if (spec.type == '\0' && value.is_number() && !value.is_boolean()) {
    const bool is_general = value.is_float() && spec.precision >= 0;
    spec.type = is_general ? 'g' : value.is_float() ? 's' : 'd';
    spec.align = spec.align == '\0' ? '>' : spec.align;
  }
  return formats_number(spec)
             ? number_text(value, spec)
             : padded(spec, "", cut_text(printed(runtime.budget(), value), spec.precision), '<');
}

// Returns the argument of a field: its name, its index, or the next one.
const Value& field_value(std::string_view field, const Arguments& arguments, std::size_t& next) {
  for (const auto& [name, value] : arguments.named) {
    if (name == field) {
      return value;
    }
  }
  const auto index = field.empty() ? std::optional(next++) : read_number<std::size_t>(field);
  require(index && *index < arguments.values.size(), "format: there is no argument '",
          field.empty() ? std::to_string(next - 1) : std::string(field), "'");
  return arguments.values[*index];
}

}  // namespace

std::string percent_format(Runtime& runtime, std::string_view pattern, const Values& values,
                           const Dict* named) {
  Budget& budget = runtime.budget();
  budget.spend(pattern.size());
  std::string out;
  std::size_t next = 0;
  for (std::size_t at = 0; (at = pattern.find('%')) != std::string_view::npos;) {
    out += pattern.substr(0, at);
    pattern.remove_prefix(at + 1);
    require(!pattern.empty(), "a format ends within a placeholder");
    if (take_one_of(pattern, "%") != '\0') {
      out += '%';
      continue;
    }
    const std::optional<std::string_view> name = take_name(pattern);
    const Spec spec = read_placeholder(pattern);
    budget.spend(spec.width + 1);
    require(name ? named != nullptr : next < values.size(),
            "a format has more placeholders than values");
    const Value* value = name ? named->find(budget, runtime.text(std::string(*name))) : nullptr;
    require(!name || value != nullptr, "a format has no value for '", name.value_or(""), "'");
    const Value& shown = name ? *value : values[next++];
    out += formats_number(spec)
               ? number_text(shown, spec)
               : padded(spec, "",
                        cut_text(spec.type == 'r' ? quoted(budget, shown) : printed(budget, shown),
                                 spec.precision),
                        '>');
  }
  require(named != nullptr || next == values.size(), "a format has more values than placeholders");
  return out += pattern;
}

std::string brace_format(Runtime& runtime, std::string_view pattern, const Arguments& arguments) {
  Budget& budget = runtime.budget();
  budget.spend(pattern.size());
  std::string out;
  std::size_t next = 0;
  for (std::size_t at = 0; (at = pattern.find_first_of("{}")) != std::string_view::npos;) {
    out += pattern.substr(0, at);
    const char brace = pattern[at];
    pattern.remove_prefix(at + 1);
    if (take_one_of(pattern, std::string_view(&brace, 1)) != '\0') {
      out += brace;  // doubled
      continue;
    }
    const std::size_t end = pattern.find_first_of("{}");
    require(brace == '{' && end != std::string_view::npos && pattern[end] == '}',
            "format: a field has no end");
    std::string_view field = pattern.substr(0, end);
    pattern.remove_prefix(end + 1);
    const std::size_t colon = std::min(field.find(':'), field.size());
    const Spec spec = read_spec(field.substr(std::min(colon + 1, field.size())));
    budget.spend(spec.width + 1);
    const bool quotes = field.substr(0, colon).ends_with("!r");
    field = field.substr(0, colon - (quotes ? 2 : 0));
    const Value& value = field_value(field, arguments, next).defined();
    out += quotes ? padded(spec, "", quoted(budget, value), '<') : field_text(runtime, value, spec);
  }
  return out += pattern;
}

}  // namespace headlight::jinja
