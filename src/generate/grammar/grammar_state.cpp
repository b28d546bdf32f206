#include "generate/grammar/grammar_state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "headlight/base/error.h"

namespace headlight {

GrammarState::GrammarState(const Grammar& grammar, std::vector<std::int32_t> ends)
    : automaton_(grammar.program()), state_(automaton_.start()), ends_(std::move(ends)) {}

std::span<const char> GrammarState::allowed(const TokenTrie& tokens) {
  constexpr std::size_t kAll = std::numeric_limits<std::int32_t>::max();
  while (!prepare(tokens, kAll)) {
  }
  return allowed_;
}

bool GrammarState::prepare(const TokenTrie& tokens, std::size_t share) {
  // Tokens inside a JSON string leave the state unchanged.
  if (allowed_tokens_ == &tokens) {
    return true;
  }
  const auto limit = static_cast<std::ptrdiff_t>(share);
  credit_ = std::min(credit_ + limit, limit);
  if (credit_ <= 0) {
    return false;
  }
  if (prepared_tokens_ != &tokens) {
    begin_marks(tokens);
  }
  const std::size_t before = automaton_.work();
  const bool is_complete = mark_tokens(tokens, before + static_cast<std::size_t>(credit_));
  credit_ -= static_cast<std::ptrdiff_t>(automaton_.work() - before);
  if (!is_complete) {
    return false;
  }
  prepared_tokens_ = nullptr;
  for (const std::int32_t id : ends_) {
    if (id >= 0 && static_cast<std::size_t>(id) < allowed_.size()) {
      allowed_[static_cast<std::size_t>(id)] = can_end() ? 1 : 0;
    }
  }
  require_value(std::find(allowed_.begin(), allowed_.end(), 1) != allowed_.end(), "grammar",
                "no token of the vocabulary can continue the text");
  allowed_tokens_ = &tokens;
  return true;
}

void GrammarState::begin_marks(const TokenTrie& tokens) {
  allowed_tokens_ = nullptr;
  prepared_tokens_ = &tokens;
  state_ = automaton_.begin_step(state_);
  allowed_.assign(tokens.vocab_size(), 0);
  path_.resize(tokens.longest_token() + 1);
  path_[0] = state_;
  next_node_ = 0;
}

// Continues until the work of the step is `most`. Returns whether all tokens are marked.
bool GrammarState::mark_tokens(const TokenTrie& tokens, std::size_t most) {
  const std::span<const TokenTrieNode> nodes = tokens.nodes();
  while (next_node_ < nodes.size() && automaton_.work() < most) {
    const TokenTrieNode& node = nodes[next_node_];
    const GrammarAutomaton::State next = automaton_.next(path_[node.depth], node.byte);
    if (next == GrammarAutomaton::kDead) {
      next_node_ = node.end;
      continue;
    }
    path_[node.depth + 1] = next;
    for (const std::int32_t id : tokens.tokens(next_node_)) {
      allowed_[static_cast<std::size_t>(id)] = 1;
    }
    ++next_node_;
  }
  return next_node_ >= nodes.size();
}

void GrammarState::advance(std::string_view bytes) {
  if (allowed_tokens_ == nullptr) {  // otherwise the transitions of its tokens are known
    state_ = automaton_.begin_step(state_);
    prepared_tokens_ = nullptr;
  }
  const GrammarAutomaton::State before = state_;
  for (const char c : bytes) {
    state_ = automaton_.next(state_, static_cast<std::uint8_t>(c));
  }
  allowed_tokens_ = state_ == before ? allowed_tokens_ : nullptr;
  require_value(state_ != GrammarAutomaton::kDead, "grammar",
                "the text does not match after the last token");
}

}  // namespace headlight
