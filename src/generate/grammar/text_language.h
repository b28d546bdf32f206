#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "generate/grammar/character_class.h"

namespace headlight {

// A set of texts that a finite automaton reads, character by character. Every state leads to a text
// of the set. Functions throw Error if an automaton gets too large.
class TextLanguage {
 public:
  struct Edge {
    CharacterRange range;
    std::uint32_t target = 0;
    bool operator<(const Edge& other) const;
  };
  // A character that no edge reads ends the attempt.
  struct State {
    bool accepts = false;
    std::vector<Edge> edges = {};  // ascending, without overlaps
    bool operator<(const State& other) const;
  };
  enum class Combined { in_both, in_either, only_in_first };

  static constexpr std::size_t kMaxStates = 8'192;
  static constexpr std::size_t kNoMaximum = static_cast<std::size_t>(-1);

  // Keeps the states that `start` reaches and that lead to a text.
  explicit TextLanguage(const std::vector<State>& states, std::uint32_t start = 0);
  static TextLanguage of_words(std::vector<std::string> words);
  // Returns the texts with `least` to `most` characters.
  static TextLanguage of_length(std::size_t least, std::size_t most);
  static TextLanguage combined(const TextLanguage& a, const TextLanguage& b, Combined how);

  bool is_empty() const { return states_.empty(); }
  bool contains(std::string_view text) const;
  // The first one is the start.
  const std::vector<State>& states() const { return states_; }

 private:
  std::vector<State> states_;
};

// Spells a character of a language in a grammar: any one of the ranges.
using CharacterSpelling = std::function<std::string(const std::vector<CharacterRange>&)>;

// Returns rules for the texts, in GBNF, a line for each state: NAME, NAME-1, NAME-2, ... There must
// be a text.
std::string language_rules(const TextLanguage& language, const std::string& name,
                           const CharacterSpelling& spelling);

}  // namespace headlight
