#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

// SentencePiece's precompiled_charsmap: rules that replace a text by another. The file has the
// length of a double array in bytes, the array (Darts-clone), and the replacements, each ended by a
// zero byte.
class Charsmap {
 public:
  Charsmap() = default;
  // Throws Error that begins with `where` if the parts do not fit. Nothing in the array can lead
  // outside it.
  Charsmap(std::string_view bytes, const std::string& where);

  struct Rule {
    std::size_t length = 0;  // bytes that the rule replaces; 0: no rule
    std::string_view replacement = {};
  };
  // Returns the longest rule for the start of a text.
  Rule longest_rule(std::string_view text) const { return rule(text, true); }
  Rule shortest_rule(std::string_view text) const { return rule(text, false); }

 private:
  Rule rule(std::string_view text, bool is_longest) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;  // ends with a zero byte
};

}  // namespace headlight
