#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "generate/grammar/text_language.h"

namespace headlight {

// Builds a nondeterministic automaton from parts, as ProgramBuilder does for grammars, but on
// characters and without rules. Throws Error if it gets too large.
class CharacterNetwork {
 public:
  struct Part {
    std::uint32_t entry = 0;
    std::uint32_t exit = 0;
  };

  Part empty();
  Part character(std::vector<CharacterRange> ranges);  // any one of them; none: no text
  Part start_of_text();
  Part end_of_text();
  Part sequence(Part first, Part second);
  Part either(Part first, Part second);
  Part repeated(Part part, bool at_least_once);  // any number of times

  // Returns the texts that lead through a part.
  TextLanguage language(Part part) const;

 private:
  static constexpr std::uint32_t kOpen = 0xFFFF'FFFF;  // leads nowhere yet
  enum class Kind : std::uint8_t { jump, fork, character, start_of_text, end_of_text };
  struct Node {
    Kind kind = Kind::jump;
    std::uint32_t next = kOpen;
    std::uint32_t other = 0;  // of a fork
    std::vector<CharacterRange> ranges = {};
  };
  enum Anchors : unsigned { kInside = 0, kAtStart = 1, kAtEnd = 2 };
  using Nodes = std::vector<std::uint32_t>;

  Part single(Kind kind);
  std::uint32_t add(Node node);
  Nodes closure(Nodes from, unsigned anchors) const;
  bool ends(const Nodes& nodes, std::uint32_t exit, unsigned anchors) const;
  std::vector<std::pair<CharacterRange, Nodes>> targets(const Nodes& nodes,
                                                        std::size_t& work) const;

  std::vector<Node> nodes_ = {};
};

}  // namespace headlight
