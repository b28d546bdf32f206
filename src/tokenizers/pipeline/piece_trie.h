#pragma once

#include <cstdint>
#include <string_view>

#include "tokenizers/pair_map.h"

namespace headlight {

// Finds all texts of a vocabulary that a text begins with.
class PieceTrie {
 public:
  // Adds a text, which is not empty, with a value from 0.
  void add(std::string_view text, std::int32_t value) {
    std::int32_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      Edge& edge = edges_.at({node, static_cast<unsigned char>(text[i])});
      edge.node = edge.node == 0 ? ++nodes_ : edge.node;
      edge.value = i + 1 == text.size() ? value : edge.value;
      node = edge.node;
    }
  }

  bool empty() const { return nodes_ == 0; }

  // Calls found(bytes, value) for each text that `text` begins with, from the shortest.
  template <class Found>
  void for_each_start(std::string_view text, const Found& found) const {
    std::int32_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const Edge edge = edges_.find({node, static_cast<unsigned char>(text[i])});
      if (edge.node == 0) {
        return;
      }
      node = edge.node;
      if (edge.value >= 0) {
        found(i + 1, edge.value);
      }
    }
  }

  // Returns the length of the longest text that `text` begins with; 0 if there is none.
  std::size_t longest_start(std::string_view text) const {
    std::size_t longest = 0;
    for_each_start(text, [&](std::size_t bytes, std::int32_t) { longest = bytes; });
    return longest;
  }

 private:
  struct Edge {
    std::int32_t node = 0;  // 0: none
    std::int32_t value = -1;
  };

  PairMap<Edge> edges_{0};  // by node and byte
  std::int32_t nodes_ = 0;
};

}  // namespace headlight
