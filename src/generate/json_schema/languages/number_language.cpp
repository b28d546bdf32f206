#include "generate/json_schema/languages/number_language.h"

#include <algorithm>

#include "generate/grammar/regular_expression.h"
#include "generate/json_schema/schema_keywords.h"

namespace headlight {
namespace {

constexpr const char* kInteger = "(?:0|[1-9][0-9]{0,17})";
constexpr const char* kAnyFraction = R"((?:\.[0-9]+)?)";
constexpr std::size_t kMaxLimitDigits = 40;

TextLanguage both(const TextLanguage& a, const TextLanguage& b) {
  return TextLanguage::combined(a, b, TextLanguage::Combined::in_both);
}

// A magnitude that numbers may reach, or not if it is strict.
struct MagnitudeLimit {
  DecimalText number;
  bool is_strict = false;
};

std::string digits_from_to(char first, char last) {
  return first > last ? "" : concat_text('[', first, '-', last, ']');
}

// Returns alternatives for digits that first differ from `digits` by a larger or smaller one; the
// rest of each is `rest(n)`, n digits.
template <class Rest>
std::string differing(const std::string& digits, bool is_larger, char smallest_first,
                      const Rest& rest) {
  std::string all;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const char low = i == 0 ? smallest_first : '0';
    const std::string other = is_larger ? digits_from_to(static_cast<char>(digits[i] + 1), '9')
                                        : digits_from_to(low, static_cast<char>(digits[i] - 1));
    if (!other.empty()) {
      all += '|' + digits.substr(0, i) + other + rest(digits.size() - 1 - i);
    }
  }
  return all;
}

// Returns "|" and alternatives for the fractions beyond or at the limit's, which has no zeros at
// its end.
std::string fractions(const std::string& digits, bool is_larger, bool is_strict) {
  const auto any = [](std::size_t) { return "[0-9]*"; };
  std::string all;
  const std::string inner = differing(digits, is_larger, '0', any);
  if (!inner.empty()) {
    all += R"(|\.(?:)" + inner.substr(1) + ')';
  }
  if (is_larger) {
    const bool is_any = digits.empty() && !is_strict;
    return is_any ? R"(|(?:\.[0-9]+)?)"
                  : all + R"(|\.)" + digits + (is_strict ? "[0-9]*[1-9][0-9]*" : "[0-9]*");
  }
  for (std::size_t i = 1; i < digits.size(); ++i) {
    all += R"(|\.)" + digits.substr(0, i);
  }
  if (!is_strict) {
    all += digits.empty() ? R"(|(?:\.0+)?)" : R"(||\.)" + digits + "0*";
  } else if (!digits.empty()) {
    all += "|";
  }
  return all;
}

// Returns the magnitudes from or up to a limit.
TextLanguage beyond(const MagnitudeLimit& limit, bool is_larger) {
  const std::string& whole = limit.number.whole;
  const std::size_t length = whole.size();
  const auto counted = [](std::size_t count) { return concat_text("[0-9]{", count, '}'); };
  std::string all = differing(whole, is_larger, length > 1 ? '1' : '0', counted);
  if (is_larger) {
    all += concat_text("|[1-9][0-9]{", length, ",}");
  } else if (length > 1) {
    all += concat_text("|0|[1-9][0-9]{0,", length - 2, '}');
  }
  std::string pattern = all.empty() ? "" : "(?:" + all.substr(1) + ')' + kAnyFraction;
  const std::string equal = fractions(limit.number.fraction, is_larger, limit.is_strict);
  if (!equal.empty()) {
    pattern += (pattern.empty() ? "" : "|") + whole + "(?:" + equal.substr(1) + ')';
  }
  return pattern.empty() ? TextLanguage({}) : whole_language(pattern);
}

// Returns all magnitudes with few enough digits.
TextLanguage magnitudes(bool is_integer) {
  const TextLanguage whole = whole_language(kInteger);
  if (is_integer) {
    return whole;
  }
  const TextLanguage fraction =
      both(whole_language(R"((?:0|[1-9][0-9]*)\.[0-9]+)"), TextLanguage::of_length(3, 16));
  return TextLanguage::combined(whole, fraction, TextLanguage::Combined::in_either);
}

constexpr std::size_t kWorkOfLimit = 100;  // of the budget

// The limits of a schema, each with its sign.
struct SignedLimit {
  MagnitudeLimit limit;
  bool is_negative = false;
  bool is_least = false;
};

std::vector<SignedLimit> limits_of(const SchemaCase& nodes) {
  std::vector<SignedLimit> all;
  const auto add = [&](const SchemaNode* node, const Json& value, const char* keyword,
                       bool is_strict) {
    require_schema(value.is_number(), node->part.where, keyword, ": expected a number, got ",
                   value.type_name());
    DecimalText number = decimal_text(value);
    const bool is_least = std::string_view(keyword).ends_with("inimum");
    const bool is_negative = number.is_negative;
    if (number.fraction.size() > kMaxLimitDigits) {  // no text has as many digits
      number.fraction.resize(kMaxLimitDigits);
      is_strict = is_least != is_negative;
      number.fraction.erase(number.fraction.find_last_not_of('0') + 1);
    }
    all.push_back({{std::move(number), is_strict}, is_negative, is_least});
  };
  for (const auto& [inclusive, exclusive] :
       {std::pair("minimum", "exclusiveMinimum"), std::pair("maximum", "exclusiveMaximum")}) {
    for (const auto& [node, value] : uses_of(nodes, inclusive)) {
      // In draft 4, "exclusiveMinimum" is true or false.
      add(node, *value, inclusive, node->part.schema->value(exclusive, false) == Json(true));
    }
    for (const auto& [node, value] : uses_of(nodes, exclusive)) {
      if (!value->is_boolean()) {
        add(node, *value, exclusive, true);
      }
    }
  }
  return all;
}

// Returns the magnitudes of one sign within all limits.
TextLanguage within(TextLanguage all, const std::vector<SignedLimit>& limits, bool is_negative) {
  for (const SignedLimit& one : limits) {
    const bool is_zero = one.limit.number.whole == "0" && one.limit.number.fraction.empty();
    const bool has_sign = one.is_negative == is_negative || is_zero;
    const bool bounds_below = one.is_least != is_negative;  // in magnitude
    if (has_sign) {
      all = one.limit.number.whole.size() > kMaxLimitDigits
                ? (bounds_below ? TextLanguage({}) : all)
                : both(all, beyond(one.limit, bounds_below));
    } else if (!bounds_below) {
      return TextLanguage({});  // no number with this sign is on the limit's side
    }
  }
  return all;
}

}  // namespace

NumberTexts number_language(SchemaDocument& document, const SchemaCase& nodes, bool is_integer) {
  TextLanguage all = magnitudes(is_integer);
  for (const auto& [node, value] : uses_of(nodes, "multipleOf")) {
    all = both(all, multiples_of(*value, node->part.where));
    document.spend(kWorkOfLimit + all.states().size(), node->part.where);
  }
  const std::vector<SignedLimit> limits = limits_of(nodes);
  document.spend(kWorkOfLimit * limits.size(), nodes[0].part.where);
  const TextLanguage below = is_integer ? both(all, whole_language("[1-9][0-9]*")) : all;
  return {within(all, limits, false), within(below, limits, true)};
}

}  // namespace headlight
