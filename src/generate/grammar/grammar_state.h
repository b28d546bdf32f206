#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "generate/grammar/automaton.h"
#include "generate/grammar/token_trie.h"
#include "headlight/generate/grammar.h"

namespace headlight {

// Position of one generated text in a grammar.
class GrammarState {
 public:
  // The grammar must outlive the state. `ends` are the tokens that end a text.
  explicit GrammarState(const Grammar& grammar, std::vector<std::int32_t> ends = {});

  // Computes a part of allowed(): about `share` positions of the automaton. A call that has needed
  // more makes the next ones do less. Returns whether allowed() is ready. Throws Error as it does.
  bool prepare(const TokenTrie& tokens, std::size_t share);
  // Returns [V], 1 for each token that may come next: tokens that continue a text of the grammar,
  // and `ends` if the text may end. Valid until the next call. Throws Error if there is none.
  std::span<const char> allowed(const TokenTrie& tokens);
  // Appends the bytes of a token. Throws Error if no text of the grammar begins like this.
  void advance(std::string_view bytes);

  // Returns whether the whole text so far matches.
  bool can_end() const { return automaton_.can_end(state_); }
  // Returns the work of the last step so far, in positions of the automaton.
  std::size_t work() const { return automaton_.work(); }
  // Returns whether the text matches and no byte may follow.
  bool is_complete() const { return can_end() && !automaton_.can_continue(state_); }

 private:
  void begin_marks(const TokenTrie& tokens);
  bool mark_tokens(const TokenTrie& tokens, std::size_t most);

  GrammarAutomaton automaton_;
  GrammarAutomaton::State state_;
  std::vector<std::int32_t> ends_;
  std::vector<char> allowed_;                   // [V], for allowed_tokens_
  const TokenTrie* allowed_tokens_ = nullptr;   // null: the state has changed
  const TokenTrie* prepared_tokens_ = nullptr;  // whose marks are not complete; null: none
  std::size_t next_node_ = 0;                   // the next node to mark
  std::vector<GrammarAutomaton::State> path_;   // memory of mark_tokens()
  std::ptrdiff_t credit_ = 0;                   // work that prepare() may do
};

}  // namespace headlight
