#include "formats/jinja/print.h"
#include "formats/jinja/runtime.h"
#include "formats/jinja/text_case.h"

// Tests: value is NAME.
namespace headlight::jinja {
namespace {

template <bool (Value::*kIs)() const>
Value is_type(const Call& call) {
  return Value((call.self.*kIs)());
}

template <bool kValue>
Value is_bool(const Call& call) {
  return Value(call.self.is_boolean() && call.self.is_true() == kValue);
}

template <bool (*kIs)(std::string_view)>
Value is_case(const Call& call) {
  return Value(kIs(printed(call.budget(), call.self)));
}

// Compares with a sign of one or two characters.
template <char kFirst, char kSecond>
Value is_compared(const Call& call) {
  constexpr char kSign[] = {kFirst, kSecond, '\0'};
  return Value(compare(call.runtime, kSign, call.self, call.value(0)));
}

bool divides(const Call& call, std::int64_t divisor) {
  require(divisor != 0, "a division by zero");
  return arithmetic(call.runtime, "%", call.self, Value(divisor)).number() == 0;
}

bool is_same(const Call& call, const Value& a, const Value& b) {
  if (a.is_list() || a.is_dict()) {
    return a.is_list() ? b.is_list() && &a.list() == &b.list()
                       : b.is_dict() && &a.dict() == &b.dict();
  }
  return std::string_view(a.type_name()) == b.type_name() && equal(call.budget(), a, b);
}

}  // namespace

std::span<const Function> tests() {
  static constexpr Function kTests[] = {
      {"defined", "", 0, [](const Call& call) { return Value(!call.self.is_undefined()); }},
      {"undefined", "", 0, is_type<&Value::is_undefined>},
      {"none", "", 0, is_type<&Value::is_none>},
      {"boolean", "", 0, is_type<&Value::is_boolean>},
      {"true", "", 0, is_bool<true>},
      {"false", "", 0, is_bool<false>},
      {"integer", "", 0,
       [](const Call& call) { return Value(call.self.is_integer() || call.self.is_big()); }},
      {"float", "", 0, is_type<&Value::is_float>},
      {"number", "", 0, is_type<&Value::is_number>},
      {"string", "", 0, is_type<&Value::is_text>},
      {"lower", "", 0, is_case<is_lower_text>},
      {"upper", "", 0, is_case<is_upper_text>},
      {"escaped", "", 0, is_type<&Value::is_safe_text>},
      {"filter", "", 0, [](const Call& call) { return Value(has_filter(call.self.text())); }},
      {"test", "", 0, [](const Call& call) { return Value(has_test(call.self.text())); }},
      {"mapping", "", 0, is_type<&Value::is_dict>},
      {"iterable", "", 0, is_type<&Value::is_iterable>},
      {"sequence", "", 0, is_type<&Value::is_sequence>},
      {"callable", "", 0,
       [](const Call& call) {
         return Value(call.self.is_object() && call.self.object().is_callable());
       }},
      {"odd", "", 0, [](const Call& call) { return Value(!divides(call, 2)); }},
      {"even", "", 0, [](const Call& call) { return Value(divides(call, 2)); }},
      {"divisibleby", "num", 1,
       [](const Call& call) { return Value(divides(call, call.value(0).whole())); }},
      {"sameas", "other", 1,
       [](const Call& call) { return Value(is_same(call, call.self, call.value(0))); }},
      {"in", "seq", 1,
       [](const Call& call) { return Value(contains(call.runtime, call.value(0), call.self)); }},
      {"eq", "other", 1, is_compared<'=', '='>},
      {"equalto", "other", 1, is_compared<'=', '='>},
      {"==", "other", 1, is_compared<'=', '='>},
      {"ne", "other", 1, is_compared<'!', '='>},
      {"!=", "other", 1, is_compared<'!', '='>},
      {"lt", "other", 1, is_compared<'<', '\0'>},
      {"lessthan", "other", 1, is_compared<'<', '\0'>},
      {"<", "other", 1, is_compared<'<', '\0'>},
      {"le", "other", 1, is_compared<'<', '='>},
      {"<=", "other", 1, is_compared<'<', '='>},
      {"gt", "other", 1, is_compared<'>', '\0'>},
      {"greaterthan", "other", 1, is_compared<'>', '\0'>},
      {">", "other", 1, is_compared<'>', '\0'>},
      {"ge", "other", 1, is_compared<'>', '='>},
      {">=", "other", 1, is_compared<'>', '='>},
  };
  return kTests;
}

}  // namespace headlight::jinja
