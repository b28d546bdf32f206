#include "headlight/nn/head_layout.h"

#include <algorithm>

namespace headlight {

Index HeadLayout::count(Index layer) const {
  return layer >= 0 && layer < layers() ? std::ssize(numbers[static_cast<std::size_t>(layer)]) : 0;
}

std::optional<Index> HeadLayout::place(Index layer, Index number) const {
  if (count(layer) == 0) {
    return std::nullopt;
  }
  const std::vector<Index>& known = numbers[static_cast<std::size_t>(layer)];
  const auto found = std::lower_bound(known.begin(), known.end(), number);
  return found != known.end() && *found == number ? std::optional<Index>(found - known.begin())
                                                  : std::nullopt;
}

}  // namespace headlight
