#pragma once

#include <functional>
#include <iterator>
#include <type_traits>
#include <vector>

namespace headlight {

// Returns the results of a function, or the members of a member pointer, for all elements.
template <class Range, class Function>
auto mapped(const Range& range, const Function& function) {
  std::vector<std::decay_t<decltype(std::invoke(function, *std::begin(range)))>> results;
  for (const auto& element : range) {
    results.push_back(std::invoke(function, element));
  }
  return results;
}

}  // namespace headlight
