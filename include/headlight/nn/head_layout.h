#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

// The attention heads of a model, layer by layer in the order in which its weights, and the values
// of its points, hold them. A query head has a number (its name) and a place (its row of q, z and
// pattern); so has a key head, which k and v have rows of.
struct HeadLayout {
  // [L][H]: numbers of the query heads, rising: 0, 1, 2 ... unless some were pruned.
  std::vector<std::vector<Index>> numbers = {};
  // [L][G]: numbers of the key heads, rising. Empty: each query head has its own, of its number.
  std::vector<std::vector<Index>> key_numbers = {};
  // [L][H]: place of the key head that each query head reads. Empty: each its own.
  std::vector<std::vector<Index>> key_places = {};
  Index head_width = 0;  // D

  Index layers() const { return static_cast<Index>(numbers.size()); }
  Index count(Index layer) const;  // 0 for a layer that does not exist
  // The place of the head with a number; none: the layer has no such head.
  std::optional<Index> place(Index layer, Index number) const;
  // The numbers of the key heads of a layer, which must exist.
  const std::vector<Index>& key_numbers_of(Index layer) const;
  // The place of the key head that the query head at a place reads; both must exist.
  Index key_place(Index layer, Index place) const;
};

// "0 to 3", or "0, 2 and 5 (others were pruned)" for numbers with gaps.
std::string numbers_text(const std::vector<Index>& numbers);

}  // namespace headlight
