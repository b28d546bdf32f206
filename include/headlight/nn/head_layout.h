#pragma once

#include <optional>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

// The attention heads of a model, layer by layer in the order in which its weights, and the values
// of Point::z, pattern, q, k and v, hold them.
struct HeadLayout {
  // Of each layer the numbers that its heads are known by, rising: 0, 1, 2 ... unless some were
  // pruned.
  std::vector<std::vector<Index>> numbers = {};
  Index head_width = 0;  // D

  Index layers() const { return static_cast<Index>(numbers.size()); }
  Index count(Index layer) const;  // 0 for a layer that does not exist
  // The place of the head with a number; none: the layer has no such head.
  std::optional<Index> place(Index layer, Index number) const;
};

}  // namespace headlight
