#pragma once

#include <string>

#include "generate/grammar/text_language.h"
#include "generate/json_schema/schema_cases.h"

namespace headlight {

// The texts of numbers from 0 and of numbers below 0, without their signs.
struct NumberTexts {
  TextLanguage positive;
  TextLanguage negative;
};

// Returns decimal texts of the numbers that satisfy "minimum", "maximum", "exclusiveMinimum",
// "exclusiveMaximum" and "multipleOf". Whole numbers have at most 18 digits, and numbers with a
// point at most 15, so that a double is as different from a limit as its text.
//
// Multiples of a fraction such as 0.01 are the ones that a division of doubles finds, as validators
// do: 0.07 / 0.01 is no whole number.
NumberTexts number_language(SchemaDocument& document, const SchemaCase& nodes, bool is_integer);

// A number in decimal digits, without an exponent and without zeros at the end of the fraction.
struct DecimalText {
  std::string whole = "0";
  std::string fraction = "";
  bool is_negative = false;
};

DecimalText decimal_text(const Json& number);

// Returns the texts of multiples of a number; see number_language(). Throws Error for a factor with
// too many digits, and for one that is not above 0.
TextLanguage multiples_of(const Json& factor, const std::string& where);

}  // namespace headlight
