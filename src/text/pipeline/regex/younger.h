#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headlight {

// Code points first ... last have one category that PCRE2 may not know yet; `stand_in` has the same
// in all versions, and as many bytes in UTF-8.
struct YoungerRun {
  char32_t first = 0;
  char32_t last = 0;
  char32_t stand_in = 0;
};

// In ascending order: see younger_table.cpp.
std::span<const YoungerRun> younger_runs();

// Valid UTF-8 with stand-ins, byte for byte as long; "" when it has none of those characters.
std::string with_older_characters(std::string_view text);

}  // namespace headlight
