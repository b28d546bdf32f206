#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/jinja/print.h"
#include "formats/jinja/runtime.h"

namespace headlight::jinja {
namespace {

[[noreturn]] void fail_range() { fail("a whole number is outside the range of 64 bits"); }

std::int64_t floor_quotient(std::int64_t left, std::int64_t right) {
  if (left == std::numeric_limits<std::int64_t>::min() && right == -1) {
    fail_range();
  }
  const std::int64_t quotient = left / right;
  return quotient - ((left % right != 0 && (left < 0) != (right < 0)) ? 1 : 0);
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) {
      fail_range();
    }
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) {
      fail_range();
    }
  }
  return result;
}

Value whole_arithmetic(std::string_view sign, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  bool is_outside = false;
  if (sign == "+") {
    is_outside = __builtin_add_overflow(left, right, &result);
  } else if (sign == "-") {
    is_outside = __builtin_sub_overflow(left, right, &result);
  } else if (sign == "*") {
    is_outside = __builtin_mul_overflow(left, right, &result);
  } else if (sign == "**") {
    result = power(left, right);
  } else {
    result = floor_quotient(left, right);
    result = sign == "//" ? result : right == -1 ? 0 : left - result * right;
  }
  if (is_outside) {
    fail_range();
  }
  return Value(result);
}

Value float_arithmetic(std::string_view sign, double left, double right) {
  if (sign == "%") {
    const double rest = std::fmod(left, right);
    return Value(rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest);
  }
  return Value(sign == "+"    ? left + right
               : sign == "-"  ? left - right
               : sign == "*"  ? left * right
               : sign == "/"  ? left / right
               : sign == "//" ? std::floor(left / right)
                              : std::pow(left, right));
}

// Returns the kind of a list that is made from a list or tuple.
ListKind plain_kind(const Value& value) {
  return is_tuple_kind(value.list().kind) ? ListKind::tuple : ListKind::list;
}

Value repeated(Runtime& runtime, const Value& value, std::int64_t count) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  if (value.is_text()) {
    runtime.budget().spend(times, value.text().size());
    std::string text;
    for (std::size_t i = 0; i < times && !value.text().empty(); ++i) {
      text += value.text();
    }
    return runtime.text(std::move(text));
  }
  const Values& once = value.list().values;
  runtime.budget().spend(times, once.size() * sizeof(Value));
  Values all;
  for (std::size_t i = 0; i < times && !once.empty(); ++i) {
    all.insert(all.end(), once.begin(), once.end());
  }
  return runtime.list(std::move(all), plain_kind(value));
}

// Joins the texts of two values. If one is safe, HTML in the other is escaped.
Value joined_texts(Runtime& runtime, const Value& left, const Value& right) {
  Budget& budget = runtime.budget();
  const bool is_safe = left.is_safe_text() || right.is_safe_text();
  const auto part = [&](const Value& value) {
    const bool is_escaped = is_safe && !value.is_safe_text();
    return is_escaped ? html_text(budget, printed(budget, value)) : printed(budget, value);
  };
  return Value::text(budget, part(left) + part(right), is_safe);
}

Value joined_values(Runtime& runtime, const Value& left, const Value& right) {
  if (left.is_text() && right.is_text()) {
    return joined_texts(runtime, left, right);
  }
  Values all = elements(runtime.budget(), left);
  const Values more = elements(runtime.budget(), right);
  all.insert(all.end(), more.begin(), more.end());
  return runtime.list(std::move(all), plain_kind(left));
}

}  // namespace

Value arithmetic(Runtime& runtime, std::string_view sign, const Value& left, const Value& right) {
  if (sign == "~") {
    return runtime.text(printed(runtime.budget(), left) + printed(runtime.budget(), right));
  }
  left.defined();
  right.defined();
  if (left.is_number() && right.is_number()) {
    require(!left.is_big() && !right.is_big(), "a whole number is outside the range of 64 bits");
    const bool divides = sign == "/" || sign == "//" || sign == "%";
    require(!divides || right.is_true(), "a division by zero");
    const bool has_whole_result =
        left.is_whole() && right.is_whole() && sign != "/" && (sign != "**" || right.whole() >= 0);
    return has_whole_result ? whole_arithmetic(sign, left.whole(), right.whole())
                            : float_arithmetic(sign, left.number(), right.number());
  }
  const auto repeats = [](const Value& value) {
    return value.is_text() || (value.is_list() && value.list().kind < ListKind::range);
  };
  if (sign == "*" && (repeats(left) || repeats(right)) && (left.is_whole() || right.is_whole())) {
    return repeats(left) ? repeated(runtime, left, right.whole())
                         : repeated(runtime, right, left.whole());
  }
  const bool are_texts = left.is_text() && right.is_text();
  const bool are_lists = left.is_list() && right.is_list() && left.list().kind < ListKind::range &&
                         right.list().kind < ListKind::range &&
                         is_tuple_kind(left.list().kind) == is_tuple_kind(right.list().kind);
  if (sign == "+" && (are_texts || are_lists)) {
    return joined_values(runtime, left, right);
  }
  if (sign == "%" && left.is_text()) {
    const bool is_tuple = right.is_list() && is_tuple_kind(right.list().kind);
    return runtime.text(percent_format(runtime, left.text(),
                                       is_tuple ? right.list().values : Values{right},
                                       right.is_dict() ? &right.dict() : nullptr));
  }
  fail("there is no ", left.type_name(), " ", sign, " ", right.type_name());
}

}  // namespace headlight::jinja
