#pragma once

#include <map>
#include <string>
#include <vector>

#include "headlight/base/index.h"

namespace headlight {

// Elements [begin, end) of a tensor in row-major order.
struct ElementRange {
  Index begin = 0;
  Index end = 0;

  Index size() const { return end - begin; }
  bool operator==(const ElementRange&) const = default;
};

// Parts of named tensors, in increasing order; tensors without an entry have no part.
using TensorParts = std::map<std::string, std::vector<ElementRange>>;

}  // namespace headlight
