#include "headlight/show/attention/attention_style.h"

#include "headlight/base/error.h"
#include "show/report/parts/numbers.h"

namespace headlight {

std::string NumberFormat::text(double weight) const {
  std::string text = fixed_number(percent ? 100 * weight : weight, decimals);
  if (text.find_first_of("123456789") == std::string::npos && text.front() == '-') {
    text.erase(0, 1);  // a difference that rounds to -0.00
  }
  return text + (percent ? "%" : "");
}

NumberFormat parse_number_format(std::string_view about, std::string_view text) {
  const bool fits = text.size() == 3 && text[0] == '.' && text[1] >= '0' && text[1] <= '4' &&
                    (text[2] == 'f' || text[2] == '%');
  require(fits, about, ": expected .0f to .4f or .0% to .4%, got '", text, "'");
  return {.decimals = text[1] - '0', .percent = text[2] == '%'};
}

}  // namespace headlight
