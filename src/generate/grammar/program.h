#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace headlight {

// A step in the network of a rule. The alphabet is bytes, so that tokens may end inside a
// character.
struct GrammarNode {
  enum class Kind : std::uint8_t {
    bytes,  // reads a byte from `low` to `high`
    fork,   // continues at `next` or at `other`
    call,   // reads the rule `other`, then continues at `next`
    jump,   // continues at `next`
    end,    // end of the rule
  };
  Kind kind = Kind::jump;
  std::uint8_t low = 0;
  std::uint8_t high = 0;
  std::uint32_t next = 0;
  std::uint32_t other = 0;
};

// A compiled grammar: one network of nodes for each rule. No rule is left-recursive.
struct GrammarProgram {
  std::vector<GrammarNode> nodes = {};      // `next` and the entries of rules are never jumps
  std::vector<std::uint32_t> entries = {};  // first node of each rule
  std::uint32_t root = 0;                   // the rule of the whole text
  std::vector<char> can_finish = {};        // [nodes] 1: some text leads to the end of the rule
  // Bytes of the same class are alike for every node.
  std::array<std::uint8_t, 256> class_of = {};
  std::vector<std::uint8_t> class_bytes = {};  // one byte of each class
};

// Part of a network. `exit` is a jump without target.
struct GrammarFragment {
  std::uint32_t entry = 0;
  std::uint32_t exit = 0;
};

// Builds a program. Throws Error if it has too many nodes.
class ProgramBuilder {
 public:
  GrammarFragment empty();
  GrammarFragment byte(std::uint8_t low, std::uint8_t high);  // none if low > high
  GrammarFragment call(std::uint32_t rule);
  GrammarFragment sequence(GrammarFragment first, GrammarFragment second);
  GrammarFragment either(GrammarFragment first, GrammarFragment second);
  GrammarFragment optional(GrammarFragment part) { return either(part, empty()); }
  // Repeats a part any number of times, at least `least` times; `least` is 0 or 1.
  GrammarFragment repeated(GrammarFragment part, std::uint32_t least);
  // Repeats a part `least` to `most` times. The part becomes a rule of its own, called `name` in
  // messages.
  GrammarFragment counted(GrammarFragment part, std::uint32_t least, std::uint32_t most,
                          const std::string& name);

  // Returns the number of a new rule, which define() must define.
  std::uint32_t new_rule(const std::string& name);
  void define(std::uint32_t rule, GrammarFragment body);

  // Returns the program. Throws Error if a rule is left-recursive or no text matches `root`.
  GrammarProgram finish(std::uint32_t root);

 private:
  std::uint32_t add(const GrammarNode& node);
  void remove_jumps();

  std::vector<std::string> names_ = {};  // of the rules
  GrammarProgram program_ = {};
};

}  // namespace headlight
