#pragma once

#include <compare>
#include <span>
#include <string>
#include <vector>

#include "headlight/nn/head_layout.h"

namespace headlight {

// One head of a model. Everywhere written LAYER.HEAD, as in "2.3". Where others were pruned, it
// keeps the number that it had before.
struct HeadId {
  Index layer = 0;
  Index head = 0;  // its number in the layer, HeadLayout::numbers

  auto operator<=>(const HeadId&) const = default;
};

// "2.3"
std::string head_name(const HeadId& id);
std::vector<std::string> head_names(std::span<const HeadId> ids);

// Where the weights of a head stand among those of its layer's heads. Throws Error for a head that
// the model does not have.
Index place_of(const HeadId& id, const HeadLayout& layout);

}  // namespace headlight
