#pragma once

#include <compare>
#include <span>
#include <string>
#include <vector>

#include "headlight/nn/head_layout.h"

namespace headlight {

// A head of a model, written "2.3" (LAYER.HEAD). It keeps its number when others are pruned.
struct HeadId {
  Index layer = 0;
  Index head = 0;  // its number in the layer, HeadLayout::numbers

  auto operator<=>(const HeadId&) const = default;
};

// "2.3"
std::string head_name(const HeadId& id);
std::vector<std::string> head_names(std::span<const HeadId> ids);

// Index of a head's weights in its layer. Throws Error for a head that the model does not have.
Index head_index(const HeadId& id, const HeadLayout& layout);

}  // namespace headlight
