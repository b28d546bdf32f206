#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// A byte of one or more tokens. Nodes are in depth-first order.
struct TokenTrieNode {
  std::uint32_t end = 0;     // first node after the ones below this node
  std::uint32_t tokens = 0;  // index of its first token, whose bytes end here
  std::uint32_t depth = 0;   // number of bytes before this one
  std::uint8_t byte = 0;
};

// The bytes of all tokens of a vocabulary as a tree. Leaves out special tokens that are not shown
// and tokens without bytes.
class TokenTrie {
 public:
  enum class Position { start_of_text, inside_text };

  // The tokens of some tokenizers have other bytes at the start of a text. `shown`: special tokens
  // whose names are their bytes.
  explicit TokenTrie(const Tokenizer& tokenizer, Position position = Position::inside_text,
                     std::span<const std::int32_t> shown = {});

  std::span<const TokenTrieNode> nodes() const {
    return std::span(nodes_).first(nodes_.size() - 1);
  }
  // Returns the ids whose bytes end at a node.
  std::span<const std::int32_t> tokens(std::size_t node) const {
    return std::span(ids_).subspan(nodes_[node].tokens,
                                   nodes_[node + 1].tokens - nodes_[node].tokens);
  }
  std::size_t vocab_size() const { return vocab_size_; }
  std::size_t longest_token() const { return longest_token_; }  // bytes

 private:
  std::vector<TokenTrieNode> nodes_;  // one more node at the end holds the number of ids
  std::vector<std::int32_t> ids_;
  std::size_t vocab_size_ = 0;
  std::size_t longest_token_ = 0;
};

}  // namespace headlight
