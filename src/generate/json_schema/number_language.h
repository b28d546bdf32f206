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

// Returns whether a keyword limits numbers.
bool has_number_limits(const SchemaCase& nodes);

// Returns decimal texts of the numbers that satisfy "minimum", "maximum", "exclusiveMinimum",
// "exclusiveMaximum" and "multipleOf". Whole numbers have at most 18 digits, and numbers with a
// point at most 15, so that a double is as different from a limit as its text.
//
// Multiples of a fraction such as 0.01 are those that a division of doubles finds, as validators
// do: 0.07 / 0.01 is no whole number.
NumberTexts number_language(SchemaDocument& document, const SchemaCase& nodes, bool is_integer);

}  // namespace headlight
