#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/strings/printable.h"
#include "base/strings/read_number.h"
#include "generate/json_schema/languages/number_language.h"
#include "generate/json_schema/schema_keywords.h"

namespace headlight {
namespace {

using State = TextLanguage::State;

// Automata have a state for each remainder and digit: of many remainders, only short texts.
constexpr Index kMaxRemainders = 2'000;
constexpr Index kFewRemainders = 100;
constexpr Index kMaxFractions = 50;
constexpr std::size_t kMostDigits = 15;  // which a double keeps
constexpr std::size_t kMostDigitsOfMany = 7;
constexpr std::size_t kMostFractionLength = 12;
constexpr std::size_t kMaxFactorDigits = 9;
constexpr Index kCheckedMultiples = 10'000;
constexpr Index kCheckedLongMultiples = 500;  // of a factor with more than 4 digits
constexpr Index kMaxExactWhole = Index{1} << 53U;
constexpr Index kMaxFactor = 100'000'000'000;  // times 10^digits

// Builds the texts of numbers with at most `digits` digits after the point that, times 10^digits,
// are multiples of `modulus`. States: the start, a zero, then layers of one state for each
// remainder: of the whole part, and of the digits read so far, 0, 1, ... after the point.
class RemainderStates {
 public:
  RemainderStates(Index modulus, std::size_t digits)
      : modulus_(modulus),
        digits_(digits),
        states_(2 + static_cast<std::size_t>(modulus) * (digits + 2)) {}

  TextLanguage language() {
    states_[0].edges.push_back({{'0', '0'}, 1});
    add_digits(0, 0, 0, '1');
    finish(1, 0, 0);
    for (Index remainder = 0; remainder < modulus_; ++remainder) {
      finish(number(0, remainder), 0, remainder);
      add_digits(number(0, remainder), 0, remainder, '0');
      for (std::size_t read = 0; read <= digits_; ++read) {
        const std::uint32_t state = number(1 + read, remainder);
        states_[state].accepts = read > 0 && is_multiple(read, remainder);
        if (read < digits_) {
          add_digits(state, 2 + read, remainder, '0');
        }
      }
    }
    return TextLanguage(states_);
  }

 private:
  std::uint32_t number(std::size_t layer, Index remainder) const {
    const std::size_t first = layer * static_cast<std::size_t>(modulus_);
    return static_cast<std::uint32_t>(2 + first + static_cast<std::size_t>(remainder));
  }

  // Returns whether the number is a multiple after `read` digits behind the point.
  bool is_multiple(std::size_t read, Index remainder) const {
    for (std::size_t i = read; i < digits_; ++i) {
      remainder = remainder * 10 % modulus_;
    }
    return remainder == 0;
  }

  // The whole part may end here, or go on with a point.
  void finish(std::uint32_t state, std::size_t read, Index remainder) {
    states_[state].accepts = is_multiple(read, remainder);
    if (digits_ > 0) {
      states_[state].edges.push_back({{'.', '.'}, number(1, remainder)});
    }
  }

  void add_digits(std::uint32_t state, std::size_t layer, Index remainder, char first) {
    for (char digit = first; digit <= '9'; ++digit) {
      const auto character = static_cast<char32_t>(digit);
      const Index next = (remainder * 10 + digit - '0') % modulus_;
      states_[state].edges.push_back({{character, character}, number(layer, next)});
    }
  }

  Index modulus_;
  std::size_t digits_;
  std::vector<State> states_;
};

// Returns k times `factor` / 10^digits as text.
std::string multiple_text(Index product, std::size_t digits) {
  std::string text = std::to_string(product);
  text.insert(0, digits + 1 - std::min(digits + 1, text.size()), '0');
  return text.insert(text.size() - digits, digits > 0 ? "." : "");
}

// Returns the first multiples of `factor` / 10^digits that a division of doubles finds.
TextLanguage first_multiples(Index factor, std::size_t digits) {
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double divisor = static_cast<double>(factor) / scale;
  std::vector<std::string> texts;
  const Index count = digits > 4 ? kCheckedLongMultiples : kCheckedMultiples;
  for (Index i = 0; i < count && i * factor < kMaxExactWhole; ++i) {
    const double quotient = static_cast<double>(i * factor) / scale / divisor;
    if (quotient == std::floor(quotient)) {
      std::string text = multiple_text(i * factor, digits);
      texts.push_back(text);
      while (text.back() == '0' && text.find('.') != std::string::npos) {
        text.pop_back();
        text.resize(text.size() - (text.back() == '.' ? 1 : 0));
        texts.push_back(text);
      }
    }
  }
  return TextLanguage::of_words(std::move(texts));
}

}  // namespace

DecimalText decimal_text(const Json& number) {
  constexpr double kMaxWhole = 0x1p63;
  const double value = number.number();
  const bool is_whole =
      !number.is_integer() && std::abs(value) < kMaxWhole && value == std::floor(value);
  const std::string text = is_whole ? std::to_string(static_cast<Index>(value)) : number.dump();
  DecimalText result{.is_negative = text.starts_with('-')};
  const std::size_t begin = result.is_negative ? 1 : 0;
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  Index exponent = 0;
  if (mark < text.size()) {
    exponent = static_cast<Index>(std::stol(text.substr(mark + 1)));
  }
  std::string digits = text.substr(begin, mark - begin);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  digits.erase(point, 1);
  Index whole = static_cast<Index>(point) + exponent;  // digits before the point
  digits.insert(0, static_cast<std::size_t>(std::max<Index>(1 - whole, 0)), '0');
  whole = std::max<Index>(whole, 1);
  digits.resize(std::max(digits.size(), static_cast<std::size_t>(whole)), '0');
  result.whole = digits.substr(0, static_cast<std::size_t>(whole));
  result.whole.erase(0, std::min(result.whole.find_first_not_of('0'), result.whole.size() - 1));
  result.fraction = digits.substr(static_cast<std::size_t>(whole));
  result.fraction.erase(result.fraction.find_last_not_of('0') + 1);
  return result;
}

TextLanguage multiples_of(const Json& factor, const std::string& where) {
  require_schema(factor.is_number() && factor.number() > 0, where,
                 "multipleOf: expected a number above 0, got ", in_quotes(factor.dump()));
  const DecimalText text = decimal_text(factor);
  const std::size_t digits = text.fraction.size();
  const auto value = read_number<Index>(text.whole + text.fraction);
  require_schema(value && *value <= kMaxFactor && digits <= kMaxFactorDigits, where,
                 "multipleOf: ", factor.dump(), " has too many digits");
  Index scale = 1;
  Index fifths = 1;
  for (std::size_t i = 0; i < digits; ++i) {
    scale *= 10;
    fifths *= 5;
  }
  const double whole_value = static_cast<double>(*value);
  const double error = std::fma(factor.number(), static_cast<double>(scale), -whole_value);
  const bool is_near = std::abs(error / whole_value) <= 0x1p-54;
  TextLanguage all = digits > 0 ? first_multiples(*value, digits) : TextLanguage::of_words({"0"});
  // Doubles are exact for multiples of 2^-digits and for whole numbers.
  const Index whole = std::lcm(*value, scale) / scale;
  for (const auto& [modulus, decimals] :
       {std::pair(std::lcm(*value, fifths), digits), std::pair(whole, std::size_t{0})}) {
    const bool is_small = modulus <= (decimals > 0 ? kMaxFractions : kMaxRemainders);
    require_schema(is_small || digits > 0, where, "multipleOf: expected at most ", kMaxRemainders,
                   ", got ", factor.dump());
    if (is_small && is_near) {
      const std::size_t most = decimals > 0                ? kMostFractionLength
                               : modulus <= kFewRemainders ? kMostDigits
                                                           : kMostDigitsOfMany;
      all = TextLanguage::combined(
          all,
          TextLanguage::combined(RemainderStates(modulus, decimals).language(),
                                 TextLanguage::of_length(1, most), TextLanguage::Combined::in_both),
          TextLanguage::Combined::in_either);
    }
  }
  return all;
}

}  // namespace headlight
