#include "generate/grammar/grammar_state.h"

#include <algorithm>
#include <utility>

#include "headlight/base/error.h"

namespace headlight {

GrammarState::GrammarState(const Grammar& grammar, std::vector<std::int32_t> ends)
    : automaton_(grammar.program()), state_(automaton_.start()), ends_(std::move(ends)) {}

std::span<const char> GrammarState::allowed(const TokenTrie& tokens) {
  // Tokens inside a JSON string leave the state unchanged.
  if (allowed_tokens_ == &tokens) {
    return allowed_;
  }
  allowed_tokens_ = nullptr;
  state_ = automaton_.begin_step(state_);
  allowed_.assign(tokens.vocab_size(), 0);
  mark_tokens(tokens);
  for (const std::int32_t id : ends_) {
    if (id >= 0 && static_cast<std::size_t>(id) < allowed_.size()) {
      allowed_[static_cast<std::size_t>(id)] = can_end() ? 1 : 0;
    }
  }
  require_value(std::find(allowed_.begin(), allowed_.end(), 1) != allowed_.end(), "grammar",
                "no token of the vocabulary can continue the text");
  allowed_tokens_ = &tokens;
  return allowed_;
}

void GrammarState::mark_tokens(const TokenTrie& tokens) {
  const std::span<const TokenTrieNode> nodes = tokens.nodes();
  path_.resize(tokens.longest_token() + 1);
  path_[0] = state_;
  for (std::size_t i = 0; i < nodes.size();) {
    const TokenTrieNode& node = nodes[i];
    const GrammarAutomaton::State next = automaton_.next(path_[node.depth], node.byte);
    if (next == GrammarAutomaton::kDead) {
      i = node.end;
      continue;
    }
    path_[node.depth + 1] = next;
    for (const std::int32_t id : tokens.tokens(i)) {
      allowed_[static_cast<std::size_t>(id)] = 1;
    }
    ++i;
  }
}

void GrammarState::advance(std::string_view bytes) {
  state_ = automaton_.begin_step(state_);
  const GrammarAutomaton::State before = state_;
  for (const char c : bytes) {
    state_ = automaton_.next(state_, static_cast<std::uint8_t>(c));
  }
  allowed_tokens_ = state_ == before ? allowed_tokens_ : nullptr;
  require_value(state_ != GrammarAutomaton::kDead, "grammar",
                "the text does not match after the last token");
}

}  // namespace headlight
