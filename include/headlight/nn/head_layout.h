#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

// The attention heads of a model, in the order of its weights and point values. A query head has a
// number (its name) and an index (its row in q, z and pattern). A key head has a number and an
// index in k and v.
struct HeadLayout {
  // [L][H]: numbers of the query heads, rising: 0, 1, 2 ... unless some were pruned.
  std::vector<std::vector<Index>> numbers = {};
  // [L][G]: numbers of the key heads, rising. Empty: one per query head, with its number.
  std::vector<std::vector<Index>> key_numbers = {};
  // [L][H]: index of the key head that each query head uses. Empty: its own.
  std::vector<std::vector<Index>> key_indices = {};
  Index head_width = 0;  // D

  Index layers() const { return static_cast<Index>(numbers.size()); }
  Index count(Index layer) const;  // 0 for a layer that does not exist
  // Returns the index of the head with a number; none if the layer has no such head.
  std::optional<Index> index(Index layer, Index number) const;
  // Returns the numbers of the key heads of an existing layer.
  const std::vector<Index>& key_numbers_of(Index layer) const;
  // Returns the index of the key head for the query head at `index`; both must exist.
  Index key_index(Index layer, Index index) const;
};

// Returns "0 to 3", or "0, 2 and 5 (others were pruned)" for numbers with gaps.
std::string numbers_text(const std::vector<Index>& numbers);

}  // namespace headlight
