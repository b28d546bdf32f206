#include "generate/grammar/schema_numbers.h"

#include <algorithm>
#include <cmath>

#include "generate/grammar/schema_keywords.h"

namespace headlight {
namespace {

constexpr Index kLargest = 999'999'999'999'999'999;
constexpr const char* kFraction = R"( ("." [0-9]{1,17})?)";

std::string any_digits(std::size_t count) {
  return count > 0 ? concat_text("[0-9]{", count, "}") : "";
}

std::string first_digit(char low, char high) { return concat_text('[', low, '-', high, "] "); }

// Returns an expression for the numbers from `low` to `high`, which have equally many digits.
std::string same_length(const std::string& low, const std::string& high) {
  const std::size_t rest = low.size() - 1;
  if (low == std::string(low.size(), '0') && high == std::string(high.size(), '9')) {
    return any_digits(low.size());
  }
  if (low.size() == 1) {
    return first_digit(low[0], high[0]);
  }
  if (low[0] == high[0]) {
    return first_digit(low[0], low[0]) + '(' + same_length(low.substr(1), high.substr(1)) + ')';
  }
  std::string all = first_digit(low[0], low[0]) + '(' +
                    same_length(low.substr(1), std::string(rest, '9')) + ") | " +
                    first_digit(high[0], high[0]) + '(' +
                    same_length(std::string(rest, '0'), high.substr(1)) + ')';
  if (high[0] - low[0] > 1) {
    all += " | " + first_digit(static_cast<char>(low[0] + 1), static_cast<char>(high[0] - 1)) +
           any_digits(rest);
  }
  return all;
}

// Returns an expression for the whole numbers from `low` >= 0 to `high`, in parentheses.
std::string digits_between(Index low, Index high) {
  std::string all;
  Index largest = 9;  // with as many digits as `low`
  while (low <= high) {
    while (largest < low) {
      largest = largest * 10 + 9;
    }
    const Index last = std::min(largest, high);
    all += (all.empty() ? "" : " | ") + same_length(std::to_string(low), std::to_string(last));
    low = last + 1;
  }
  return '(' + all + ')';
}

// Returns an expression for the numbers from `low` >= 0 to `high`.
std::string magnitudes(Index low, Index high, bool is_integer) {
  if (is_integer) {
    return digits_between(low, high);
  }
  std::string all = concat_text("\"", high, R"(" ("." "0"{1,17})?)");
  if (low < high) {
    all += " | " + digits_between(low, high - 1) + kFraction;
  }
  return '(' + all + ')';
}

struct Bounds {
  Index least = -kLargest;
  Index most = kLargest;
};

// Returns a bound as a whole number: `least` rounds up, otherwise down.
Index whole_bound(const Json& value, bool least, const std::string& where) {
  require_schema(value.is_number(), where, "expected a number, got ", value.type_name());
  const double number = value.number();
  require_schema(std::abs(number) < static_cast<double>(kLargest), where,
                 "expected a number of at most 18 digits");
  return value.is_integer() ? value.integer()
                            : static_cast<Index>(least ? std::ceil(number) : std::floor(number));
}

Bounds bounds_of(const Json& schema, bool is_integer, const std::string& place) {
  Bounds bounds;
  for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
    const Json* value = schema.find(keyword);
    if (value == nullptr) {
      continue;
    }
    const std::string where = place + ": " + keyword;
    const std::string name = keyword;
    const bool is_least = name.ends_with("inimum");
    const bool is_exclusive = name.starts_with("exclusive");
    const Index whole = whole_bound(*value, is_least, where);
    const bool is_whole = value->number() == static_cast<double>(whole);
    require_schema(is_integer || (is_whole && !is_exclusive), where,
                   "numbers that need not be whole have only whole, inclusive bounds");
    const Index step = is_exclusive && is_whole ? 1 : 0;
    if (is_least) {
      bounds.least = std::max(bounds.least, whole + step);
    } else {
      bounds.most = std::min(bounds.most, whole - step);
    }
  }
  require_schema(bounds.least <= bounds.most, place, "no number is between the bounds");
  return bounds;
}

}  // namespace

std::string number_expression(const Json& schema, bool is_integer, const std::string& place) {
  const Bounds bounds = bounds_of(schema, is_integer, place);
  std::string all;
  if (bounds.most >= 0) {
    all = magnitudes(std::max<Index>(bounds.least, 0), bounds.most, is_integer);
  }
  if (bounds.least < 0) {
    const Index least = std::max<Index>(-bounds.most, is_integer ? 1 : 0);
    all += std::string(all.empty() ? "" : " | ") + "\"-\" " +
           magnitudes(least, -bounds.least, is_integer);
  }
  return all;
}

}  // namespace headlight
