#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "generate/grammar/program.h"

namespace headlight {

// Reads texts with a grammar. A state is the set of all positions where the text so far may be in
// the grammar, each with the rules to which it returns. States and their transitions are computed
// on demand and kept, so that most bytes of most tokens cost one read of a table.
//
// Every step has a budget of work, and the kept states have a budget of memory. Beyond them, next()
// throws Error: the grammar can read the text in too many ways.
class GrammarAutomaton {
 public:
  using State = std::int32_t;
  static constexpr State kDead = 0;  // no text of the grammar begins like this

  // The program must outlive the automaton.
  explicit GrammarAutomaton(const GrammarProgram& program);
  GrammarAutomaton(const GrammarAutomaton&) = delete;
  GrammarAutomaton& operator=(const GrammarAutomaton&) = delete;

  State start();
  // Returns the work since the last begin_step() or start().
  std::size_t work() const;
  // Begins a step with a new budget at `state`. May forget all other states and renumber this one:
  // returns its number.
  State begin_step(State state);
  // Returns the state after one more byte.
  State next(State state, std::uint8_t byte) {
    const State known = transitions_[transition_index(state, program_->class_of[byte])];
    return known != kUnknown ? known : compute_next(state, program_->class_of[byte]);
  }
  // Returns whether the text may end here.
  bool can_end(State state) const { return keys_[index(state)]->second; }
  // Returns whether a byte may follow.
  bool can_continue(State state) const { return !keys_[index(state)]->first.empty(); }

 private:
  using Stack = std::uint32_t;  // 0: empty
  // A node in the upper half and a stack in the lower half.
  using Position = std::uint64_t;
  using Positions = std::vector<Position>;

  // Positions at nodes that read a byte, ascending, and whether the text may end.
  using StateKey = std::pair<Positions, bool>;
  // A rule's end continues at `node`, with the stack `below`.
  struct StackEntry {
    std::uint32_t node = 0;
    Stack below = 0;
  };

  static constexpr State kUnknown = -1;

  static std::size_t index(State state) { return static_cast<std::size_t>(state); }
  std::size_t transition_index(State state, std::uint8_t byte_class) const {
    return index(state) * program_->class_bytes.size() + byte_class;
  }
  State compute_next(State state, std::uint8_t byte_class);
  void reach(std::uint32_t node, Stack stack);
  void enter(const GrammarNode& node, Stack stack);
  State close();
  State state_of(StateKey key);
  Stack push(std::uint32_t node, Stack below);
  std::size_t memory() const;
  void spend(std::size_t work);
  void forget();

  const GrammarProgram* program_;
  std::map<StateKey, State> states_ = {};
  std::vector<const StateKey*> keys_ = {};  // [states]
  std::vector<State> transitions_ = {};     // [states, classes]
  std::vector<StackEntry> stacks_ = {};     // a stack comes after the one below it
  std::unordered_map<std::uint64_t, Stack> stack_numbers_ = {};
  std::size_t kept_positions_ = 0;
  std::size_t forgotten_memory_;  // begin_step() forgets states beyond this memory
  std::size_t work_left_ = 0;
  // Memory of close().
  std::vector<Position> pending_ = {};
  std::unordered_set<Position> visited_ = {};
};

}  // namespace headlight
