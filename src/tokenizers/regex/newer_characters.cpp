#include "tokenizers/regex/newer_characters.h"

#include <algorithm>
#include <cstdint>

#include "headlight/base/utf8.h"

namespace headlight {
namespace {

// Returns the run of a code point; null if the character is not replaced.
const NewerCharacterRun* run_of(char32_t code_point) {
  const std::span<const NewerCharacterRun> runs = newer_character_runs();
  const auto next =
      std::upper_bound(runs.begin(), runs.end(), code_point,
                       [](char32_t c, const NewerCharacterRun& run) { return c < run.first; });
  return next == runs.begin() || code_point > std::prev(next)->last ? nullptr : &*std::prev(next);
}

}  // namespace

std::string with_older_characters(std::string_view text) {
  constexpr std::uint8_t kFirstLead = 0xE0;  // all replaced characters have 3 or 4 bytes
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    if (static_cast<std::uint8_t>(text[i]) < kFirstLead) {
      ++i;
      continue;
    }
    const Utf8Character character = first_character(text.substr(i, 4));
    const auto length = static_cast<std::size_t>(character.length);
    if (const NewerCharacterRun* run = run_of(character.code_point); run != nullptr) {
      if (result.empty()) {
        result = text;
      }
      std::string older;
      append_utf8(run->stand_in, older);
      result.replace(i, length, older);
    }
    i += length;
  }
  return result;
}

}  // namespace headlight
