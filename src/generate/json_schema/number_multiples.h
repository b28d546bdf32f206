#pragma once

#include <string>

#include "base/json.h"
#include "generate/grammar/text_language.h"

namespace headlight {

// A number in decimal digits, without an exponent and without zeros at the end of the fraction.
struct DecimalText {
  std::string whole = "0";
  std::string fraction = "";
  bool is_negative = false;
};

DecimalText decimal_text(const Json& number);

// Returns the texts of multiples of a number; see number_language(). Throws Error for a factor with
// too many digits, and for one that is not above 0.
TextLanguage multiples_of(const Json& factor, const std::string& place);

}  // namespace headlight
