#include "questions/arguments.h"

#include <algorithm>
#include <cmath>

#include "base/strings/read_number.h"
#include "base/transformed.h"
#include "headlight/base/nearest_name.h"

namespace headlight {
namespace {

bool is_ids(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, &Json::is_integer);
}

bool is_texts(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, &Json::is_string);
}

std::string text_of_amount(const Json& value) {
  return value.is_string() ? value.text() : value.dump();
}

// Returns the number of a value of kind `amount`; NaN for another value.
double amount_of(const Json& value, double whole) {
  const std::string text = text_of_amount(value);
  const bool is_share = text.ends_with('%');
  const std::size_t sign = text.starts_with('+') ? 1 : 0;
  const auto number =
      read_number<double>(text.substr(sign, text.size() - sign - (is_share ? 1 : 0)));
  return number.value_or(std::nan("")) * (is_share ? whole / 100 : 1);
}

struct KindOfValue {
  const char* expected;
  bool (*accepts)(const Json& value);
};

KindOfValue kind_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::flag:
      return {"true or false", [](const Json& value) { return value.is_boolean(); }};
    case ValueKind::integer:
      return {"a whole number", [](const Json& value) { return value.is_integer(); }};
    case ValueKind::number:
      return {"a finite number",
              [](const Json& value) { return value.is_number() && std::isfinite(value.number()); }};
    case ValueKind::amount:
      return {"a number or a share like 50%",
              [](const Json& value) { return std::isfinite(amount_of(value, 1)); }};
    case ValueKind::texts:
      return {"a list of texts", is_texts};
    case ValueKind::prompt:
      return {"a text or a list of token ids",
              [](const Json& value) { return value.is_string() || is_ids(value); }};
    case ValueKind::answer:
      return {"a text, a token id or a list of them", [](const Json& value) {
                return value.is_string() || value.is_integer() || is_ids(value);
              }};
    case ValueKind::data:
      return {"texts", [](const Json&) { return true; }};
    case ValueKind::records:
      return {"a list of objects", [](const Json& value) {
                return value.is_array() && std::ranges::all_of(value, &Json::is_object);
              }};
    default:
      return {"a text", [](const Json& value) { return value.is_string(); }};
  }
}

std::string shown_value(const Json& value) {
  return value.is_string()                       ? "'" + escaped(value.text()) + "'"
         : value.is_array() || value.is_object() ? std::string("a list or an object")
                                                 : value.dump();
}

// Name and value of Parameter::needs; "": any value.
std::pair<std::string_view, std::string_view> needed(std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  return {text.substr(0, equals), text.substr(std::min(equals + 1, text.size()))};
}

}  // namespace

Arguments::Arguments(const std::vector<Parameter>& parameters, Json given, std::string_view prefix)
    : parameters_(parameters), given_(Json::object()), prefix_(prefix) {
  for (const JsonMember& member : given.members()) {
    if (!member.value.is_null()) {
      check_value(parameter(member.key), member.value);
      given_.add(member.key, member.value);
    }
  }
  for (const JsonMember& member : given_.members()) {
    check_combinations(parameter(member.key));
  }
  std::ranges::for_each(parameters_, [&](const Parameter& known) { check_required(known); });
}

void Arguments::check_required(const Parameter& parameter) const {
  const bool is_met = !parameter.is_required || !value(parameter.name).is_null() ||
                      (!parameter.unless.empty() && given(parameter.unless));
  const char* expected = parameter.kind == ValueKind::data     ? "texts"
                         : parameter.kind == ValueKind::output ? "a file or folder to write"
                                                               : "a text";
  require_value(is_met, parameter.name, "expected ", expected,
                parameter.unless.empty() ? "" : ", or ", parameter.unless.empty() ? "" : prefix_,
                parameter.unless);
}

bool Arguments::has(std::string_view name) const {
  return std::ranges::count(parameters_, name, &Parameter::name) > 0;
}

const Parameter& Arguments::parameter(std::string_view name) const {
  const auto found = std::ranges::find(parameters_, name, &Parameter::name);
  if (found == parameters_.end()) {
    std::vector<std::string> names;
    for (const Parameter& parameter : parameters_) {
      require_value(std::ranges::count(parameter.former, name) == 0, name, "is now called ",
                    prefix_, parameter.name);
      names.emplace_back(parameter.name);
    }
    fail_value(name, "is unknown here", did_you_mean(std::string(name), names));
  }
  return *found;
}

void Arguments::check_value(const Parameter& parameter, const Json& value) const {
  const KindOfValue kind = kind_of(parameter.kind);
  require_value(kind.accepts(value), parameter.name, "expected ", kind.expected, ", got ",
                shown_value(value));
  const bool is_name = parameter.kind == ValueKind::name || parameter.kind == ValueKind::metric;
  if (is_name && std::ranges::count(parameter.choices, value.text()) == 0) {
    fail_choice(parameter.name, parameter.choices, value.text());
  }
  if (parameter.kind == ValueKind::integer) {
    require_value(value.integer() >= parameter.least, parameter.name, "expected at least ",
                  parameter.least, ", got ", value.integer());
    require_value(value.integer() <= parameter.most, parameter.name, "expected at most ",
                  parameter.most, ", got ", value.integer());
  }
}

void Arguments::check_combinations(const Parameter& parameter) const {
  for (const std::string_view other : parameter.excludes) {
    require_value(!given(other), parameter.name, "cannot be combined with ", prefix_, other);
  }
  for (const std::string_view needs : parameter.needs) {
    require_met(parameter.name, needs);
  }
}

void Arguments::require_met(std::string_view name, std::string_view needs) const {
  if (needs.empty()) {
    return;
  }
  const auto [other, wanted] = needed(needs);
  const bool is_met = wanted.empty() ? given(other) : text(other) == wanted;
  require_value(is_met, name, "needs ", prefix_, other, wanted.empty() ? "" : " ", wanted);
}

const Json& Arguments::value(std::string_view name) const {
  const Json* value = given_.find(name);
  return value == nullptr ? parameter(name).fallback : *value;
}

double Arguments::amount(std::string_view name, double whole) const {
  return amount_of(value(name), whole);
}

std::string Arguments::amount_text(std::string_view name) const {
  return text_of_amount(value(name));
}

bool Arguments::flag(std::string_view name) const {
  const Json& found = value(name);
  return !found.is_null() && found.boolean();
}

std::string Arguments::text(std::string_view name) const {
  const Json& found = value(name);
  return found.is_null() ? "" : found.text();
}

std::vector<std::string> Arguments::texts(std::string_view name) const {
  const Json& found = value(name);
  return found.is_null() ? std::vector<std::string>()
                         : transformed(found, [](const Json& text) { return text.text(); });
}

NumberRange Arguments::range(std::string_view name, Index count) const {
  const std::string found = text(name);
  if (found == "last" && count > 0) {
    return {.first = count - 1};
  }
  return found.empty() ? NumberRange{} : parse_range(name, found);
}

Json value_of_text(ValueKind kind, const std::string& text) {
  if (kind == ValueKind::integer) {
    const auto number = read_number<Index>(text);
    return number ? Json(*number) : Json(text);
  }
  if (kind == ValueKind::number) {
    const auto number = read_number<double>(text);
    return number ? Json(*number) : Json(text);
  }
  return text;
}

}  // namespace headlight
