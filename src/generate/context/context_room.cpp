#include "generate/context/context_room.h"

namespace headlight {
namespace {

Index blocks_of(Index positions) {
  return rounded_up(positions, KeyValueCache::kBlock) / KeyValueCache::kBlock;
}

}  // namespace

ContextRoom::ContextRoom(Index tokens, Index chunk)
    : blocks_(tokens / KeyValueCache::kBlock), prefixes_(chunk) {}

bool ContextRoom::make_room(Index positions) {
  const auto fits = [&] { return *used_ + blocks_of(positions) <= blocks_; };
  while (is_limited() && !fits() && prefixes_.drop_oldest()) {
  }
  return !is_limited() || fits();
}

bool ContextRoom::reserve(KeyValueCache& cache, Index positions, Index spare) {
  const Index more = cache.length() + positions - cache.capacity();
  if (more > 0 && !make_room(rounded_up(more, KeyValueCache::kBlock) + spare)) {
    return false;
  }
  cache.reserve(positions);
  return true;
}

}  // namespace headlight
