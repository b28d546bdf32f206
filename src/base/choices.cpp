#include "headlight/base/choices.h"

#include "base/strings/printable.h"
#include "headlight/base/error.h"

namespace headlight {

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + std::string(names[i]);
  }
  return text;
}

void fail_choice(std::string_view about, std::span<const std::string_view> names,
                 std::string_view text) {
  fail_value(about, "expected ", listed(names), ", got ", in_quotes(text));
}

}  // namespace headlight
