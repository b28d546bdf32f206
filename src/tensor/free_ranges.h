#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace headlight {

struct MemoryRange {
  std::byte* begin = nullptr;
  std::size_t size = 0;
};

// Ranges of memory without an owner. Ranges that touch become one.
class FreeRanges {
 public:
  // The range must not overlap another one. O(log n), as are the others.
  void insert(MemoryRange range);

  // Takes out the smallest range of at least `size` bytes, the one with the lowest address among
  // equals.
  std::optional<MemoryRange> take_best_fit(std::size_t size);

  // Takes out the range that ends at `end`.
  std::optional<MemoryRange> take_before(const std::byte* end);

  std::size_t total() const { return total_; }  // bytes

  // By address.
  const std::map<std::byte*, std::size_t>& all() const { return by_address_; }

 private:
  using Place = std::map<std::byte*, std::size_t>::iterator;
  MemoryRange take(Place place);

  std::map<std::byte*, std::size_t> by_address_;          // begin -> size
  std::set<std::pair<std::size_t, std::byte*>> by_size_;  // the same ranges
  std::size_t total_ = 0;
};

}  // namespace headlight
