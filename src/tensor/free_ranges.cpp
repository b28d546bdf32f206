#include "tensor/free_ranges.h"

namespace headlight {

void FreeRanges::insert(MemoryRange range) {
  if (range.size == 0) {
    return;
  }
  const Place next = by_address_.lower_bound(range.begin);
  if (next != by_address_.end() && next->first == range.begin + range.size) {
    range.size += take(next).size;
  }
  if (const std::optional<MemoryRange> previous = take_before(range.begin)) {
    range = {previous->begin, previous->size + range.size};
  }
  by_address_.emplace(range.begin, range.size);
  by_size_.emplace(range.size, range.begin);
  total_ += range.size;
}

std::optional<MemoryRange> FreeRanges::take_best_fit(std::size_t size) {
  const auto found = by_size_.lower_bound({size, nullptr});
  if (found == by_size_.end()) {
    return std::nullopt;
  }
  return take(by_address_.find(found->second));
}

std::optional<MemoryRange> FreeRanges::take_before(const std::byte* end) {
  Place place = by_address_.lower_bound(const_cast<std::byte*>(end));
  if (place == by_address_.begin()) {
    return std::nullopt;
  }
  --place;
  if (place->first + place->second != end) {
    return std::nullopt;
  }
  return take(place);
}

MemoryRange FreeRanges::take(Place place) {
  const MemoryRange range{place->first, place->second};
  by_size_.erase({range.size, range.begin});
  by_address_.erase(place);
  total_ -= range.size;
  return range;
}

}  // namespace headlight
