#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headlight {

// Code points first ... last, of one category, that an old PCRE2 may not have yet. `stand_in` has
// the same category in all versions, and as many bytes in UTF-8.
struct NewerCharacterRun {
  char32_t first = 0;
  char32_t last = 0;
  char32_t stand_in = 0;
};

// Sorted in ascending order: see newer_characters_table.cpp.
std::span<const NewerCharacterRun> newer_character_runs();

// Returns valid UTF-8 with stand-ins for newer characters, equally long; "" if there are none.
std::string with_older_characters(std::string_view text);

}  // namespace headlight
