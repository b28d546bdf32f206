#include "headlight/nn/head_layout.h"

#include <algorithm>

#include "headlight/base/error.h"

namespace headlight {

Index HeadLayout::count(Index layer) const {
  return layer >= 0 && layer < layers() ? std::ssize(numbers[static_cast<std::size_t>(layer)]) : 0;
}

std::optional<Index> HeadLayout::index(Index layer, Index number) const {
  if (count(layer) == 0) {
    return std::nullopt;
  }
  const std::vector<Index>& known = numbers[static_cast<std::size_t>(layer)];
  const auto found = std::lower_bound(known.begin(), known.end(), number);
  return found != known.end() && *found == number ? std::optional<Index>(found - known.begin())
                                                  : std::nullopt;
}

const std::vector<Index>& HeadLayout::key_numbers_of(Index layer) const {
  return (key_numbers.empty() ? numbers : key_numbers)[static_cast<std::size_t>(layer)];
}

Index HeadLayout::key_index(Index layer, Index index) const {
  return key_indices.empty()
             ? index
             : key_indices[static_cast<std::size_t>(layer)][static_cast<std::size_t>(index)];
}

std::string numbers_text(const std::vector<Index>& numbers) {
  if (!numbers.empty() && numbers.back() + 1 == std::ssize(numbers)) {
    return concat_text("0 to ", numbers.back());
  }
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    text += i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ";
    text += std::to_string(numbers[i]);
  }
  return text + " (others were pruned)";
}

}  // namespace headlight
