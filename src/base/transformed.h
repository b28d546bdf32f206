#pragma once

#include <functional>
#include <type_traits>
#include <vector>

namespace headlight {

// Returns the results of `function`, or the values of a member, for every element of a range.
template <class Range, class Function>
auto transformed(const Range& range, const Function& function) {
  std::vector<std::decay_t<decltype(std::invoke(function, *std::begin(range)))>> results;
  for (const auto& element : range) {
    results.push_back(std::invoke(function, element));
  }
  return results;
}

}  // namespace headlight
