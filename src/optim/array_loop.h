#pragma once

#include <algorithm>
#include <vector>

#include "kernels/threads/parallel.h"

namespace headlight {

// One parallel loop over several arrays. A loop for each small array would have too few chunks for
// many threads, and would end with a barrier of its own.
class ArrayLoop {
 public:
  // Adds an array of elements.
  void add(Index size) {
    ends_.push_back(chunks() + kernels::chunk_count(size, kernels::kElementGrain));
    sizes_.push_back(size);
  }

  Index chunks() const { return ends_.empty() ? 0 : ends_.back(); }
  // Returns the number of chunks up to the end of an array.
  Index end(std::size_t array) const { return ends_[array]; }

  // Calls body(array, chunk, begin, end) for chunks of kElementGrain elements of each array.
  // `chunk` counts the chunks of all arrays.
  template <class Body>
  void run(const Body& body) const {
    kernels::parallel_for(chunks(), 1, [&](Index chunk, Index) {
      const auto found = std::upper_bound(ends_.begin(), ends_.end(), chunk);
      const auto array = static_cast<std::size_t>(found - ends_.begin());
      const Index first = array == 0 ? 0 : ends_[array - 1];
      const Index begin = (chunk - first) * kernels::kElementGrain;
      body(array, chunk, begin, std::min(begin + kernels::kElementGrain, sizes_[array]));
    });
  }

 private:
  std::vector<Index> ends_;   // [arrays], in chunks
  std::vector<Index> sizes_;  // [arrays], in elements
};

}  // namespace headlight
