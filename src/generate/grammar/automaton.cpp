#include "generate/grammar/automaton.h"

#include <algorithm>

#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxWork = std::size_t{1} << 21U;          // of a step, in positions
constexpr std::size_t kMaxPositions = std::size_t{1} << 16U;     // of a state
constexpr std::size_t kMaxMemory = std::size_t{1} << 25U;        // bytes
constexpr std::size_t kForgottenMemory = std::size_t{1} << 22U;  // bytes kept between steps
constexpr std::size_t kMaxVisitedBuckets = 4096;

}  // namespace

GrammarAutomaton::GrammarAutomaton(const GrammarProgram& program)
    : program_(&program), forgotten_memory_(kForgottenMemory) {
  forget();
}

// Forgets all states except the dead one, which has number 0.
void GrammarAutomaton::forget() {
  states_.clear();
  keys_.clear();
  transitions_.clear();
  stacks_.assign(1, {});
  stack_numbers_.clear();
  kept_positions_ = 0;
  state_of({});
  std::fill(transitions_.begin(), transitions_.end(), kDead);
}

GrammarAutomaton::State GrammarAutomaton::start() {
  work_left_ = kMaxWork;
  reach(program_->entries[program_->root], 0);
  return close();
}

std::size_t GrammarAutomaton::work() const { return kMaxWork - work_left_; }

GrammarAutomaton::State GrammarAutomaton::begin_step(State state) {
  work_left_ = kMaxWork;
  if (memory() < forgotten_memory_ || state == kDead) {
    return state;
  }
  StateKey key = *keys_[index(state)];
  const std::vector<StackEntry> old = std::move(stacks_);
  std::vector<char> used(old.size(), 0);
  for (const Position position : key.first) {
    used[static_cast<Stack>(position)] = 1;
  }
  for (std::size_t i = old.size() - 1; i > 0; --i) {
    used[old[i].below] |= used[i];
  }
  forget();
  std::vector<Stack> renumbered(old.size(), 0);
  for (std::size_t i = 1; i < old.size(); ++i) {
    renumbered[i] = used[i] != 0 ? push(old[i].node, renumbered[old[i].below]) : 0;
  }
  for (Position& position : key.first) {
    position = position >> 32U << 32U | renumbered[static_cast<Stack>(position)];
  }
  state = state_of(std::move(key));
  // Deep stacks stay: forgetting at every step would take quadratic time.
  forgotten_memory_ = std::max(kForgottenMemory, 2 * memory());
  return state;
}

GrammarAutomaton::State GrammarAutomaton::compute_next(State state, std::uint8_t byte_class) {
  const Positions& positions = keys_[index(state)]->first;
  const std::uint8_t byte = program_->class_bytes[byte_class];
  spend(positions.size());
  for (const Position position : positions) {
    const GrammarNode& node = program_->nodes[position >> 32U];
    if (node.low <= byte && byte <= node.high) {
      reach(node.next, static_cast<Stack>(position));
    }
  }
  const State next = pending_.empty() ? kDead : close();
  transitions_[transition_index(state, byte_class)] = next;
  return next;
}

// Adds a position for close() to follow.
void GrammarAutomaton::reach(std::uint32_t node, Stack stack) {
  const Position position = Position{node} << 32U | stack;
  if (program_->can_finish[node] != 0 && visited_.insert(position).second) {
    spend(visited_.size() <= kMaxPositions ? 1 : kMaxWork + 1);
    pending_.push_back(position);
  }
}

// Follows a node that reads no byte.
void GrammarAutomaton::enter(const GrammarNode& node, Stack stack) {
  if (node.kind == GrammarNode::Kind::end) {
    reach(stacks_[stack].node, stacks_[stack].below);
  } else if (node.kind == GrammarNode::Kind::fork) {
    reach(node.next, stack);
    reach(node.other, stack);
  } else if (program_->can_finish[node.next] != 0) {
    const bool is_last = program_->nodes[node.next].kind == GrammarNode::Kind::end;
    reach(program_->entries[node.other], is_last ? stack : push(node.next, stack));
  }
}

// Returns the state of the pending positions and of all that follow without a byte.
GrammarAutomaton::State GrammarAutomaton::close() {
  StateKey key;
  while (!pending_.empty()) {
    const Position position = pending_.back();
    pending_.pop_back();
    const GrammarNode& node = program_->nodes[position >> 32U];
    const auto stack = static_cast<Stack>(position);
    if (node.kind == GrammarNode::Kind::bytes) {
      key.first.push_back(position);
    } else if (node.kind == GrammarNode::Kind::end && stack == 0) {
      key.second = true;
    } else {
      enter(node, stack);
    }
  }
  // Clearing takes time for every bucket.
  if (visited_.bucket_count() > kMaxVisitedBuckets) {
    std::unordered_set<Position>().swap(visited_);
  } else {
    visited_.clear();
  }
  std::sort(key.first.begin(), key.first.end());
  return state_of(std::move(key));
}

GrammarAutomaton::State GrammarAutomaton::state_of(StateKey key) {
  const auto [entry, is_new] =
      states_.try_emplace(std::move(key), static_cast<State>(keys_.size()));
  if (is_new) {
    keys_.push_back(&entry->first);
    kept_positions_ += entry->first.first.size();
    transitions_.resize(transitions_.size() + program_->class_bytes.size(), kUnknown);
    require_value(memory() < kMaxMemory, "grammar", "can read the text in too many ways");
  }
  return entry->second;
}

GrammarAutomaton::Stack GrammarAutomaton::push(std::uint32_t node, Stack below) {
  const auto [entry, is_new] = stack_numbers_.try_emplace(std::uint64_t{node} << 32U | below,
                                                          static_cast<Stack>(stacks_.size()));
  if (is_new) {
    stacks_.push_back({node, below});
  }
  return entry->second;
}

// Returns about the number of bytes of the kept states.
std::size_t GrammarAutomaton::memory() const {
  constexpr std::size_t kBytesOfState = 128;
  constexpr std::size_t kBytesOfStack = 48;
  return keys_.size() * kBytesOfState + transitions_.size() * sizeof(State) +
         kept_positions_ * sizeof(Position) + stacks_.size() * kBytesOfStack;
}

void GrammarAutomaton::spend(std::size_t work) {
  require_value(work <= work_left_, "grammar", "can read the text in too many ways");
  work_left_ -= work;
}

}  // namespace headlight
