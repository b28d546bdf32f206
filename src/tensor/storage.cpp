#include "headlight/tensor/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "headlight/base/error.h"

// AddressSanitizer defines these; without it they are null.
extern "C" {
__attribute__((weak)) void __asan_poison_memory_region(const volatile void*, std::size_t);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void*, std::size_t);
}

namespace headlight {
namespace {

struct MemoryRange {
  std::byte* begin = nullptr;
  std::size_t size = 0;
};

// Free ranges of memory; adjacent ranges are merged.
class FreeRanges {
 public:
  // The range must not overlap another one. All operations are O(log n).
  void insert(MemoryRange range) {
    if (range.size == 0) {
      return;
    }
    const Iterator next = by_address_.lower_bound(range.begin);
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

  // Removes the smallest range of at least `size` bytes; among equal ranges the one with the lowest
  // address.
  std::optional<MemoryRange> take_best_fit(std::size_t size) {
    const auto found = by_size_.lower_bound({size, nullptr});
    if (found == by_size_.end()) {
      return std::nullopt;
    }
    return take(by_address_.find(found->second));
  }

  // Removes the range that ends at `end`.
  std::optional<MemoryRange> take_before(const std::byte* end) {
    Iterator position = by_address_.lower_bound(const_cast<std::byte*>(end));
    if (position == by_address_.begin()) {
      return std::nullopt;
    }
    --position;
    if (position->first + position->second != end) {
      return std::nullopt;
    }
    return take(position);
  }

  std::size_t total() const { return total_; }  // bytes

 private:
  using Iterator = std::map<std::byte*, std::size_t>::iterator;

  MemoryRange take(Iterator position) {
    const MemoryRange range{position->first, position->second};
    by_size_.erase({range.size, range.begin});
    by_address_.erase(position);
    total_ -= range.size;
    return range;
  }

  std::map<std::byte*, std::size_t> by_address_;          // begin -> size
  std::set<std::pair<std::size_t, std::byte*>> by_size_;  // the same ranges
  std::size_t total_ = 0;
};

constexpr std::size_t kStorageAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Smallest request to the system. Untouched pages cost only address space.
constexpr std::size_t kSmallestRegion = std::size_t{64} << 20;

std::size_t rounded_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

// Never 0, so that empty tensors have an address too. Adds a gap between blocks for
// AddressSanitizer.
std::size_t block_size(std::size_t bytes) {
  const std::size_t gap = __asan_poison_memory_region != nullptr ? kStorageAlignment : 0;
  return rounded_up(std::max<std::size_t>(bytes, 1), kStorageAlignment) + gap;
}

void forbid(const void* begin, std::size_t size) {
  if (__asan_poison_memory_region != nullptr) {
    __asan_poison_memory_region(begin, size);
  }
}

void allow(const void* begin, std::size_t size) {
  if (__asan_unpoison_memory_region != nullptr) {
    __asan_unpoison_memory_region(begin, size);
  }
}

// Memory of all tensors; see the public header. Process-wide, as malloc's state.
class Arena {
 public:
  // Returns null if the system has no more memory.
  void* take(std::size_t size) {
    const std::lock_guard lock(mutex_);
    std::optional<MemoryRange> found = used_.take_best_fit(size);
    if (found) {
      used_.insert({found->begin + size, found->size - size});
    } else if (found = take_fresh(size); !found) {
      return nullptr;
    }
    live_bytes_ += size;
    return found->begin;
  }

  void give_back(void* block, std::size_t size) {
    const std::lock_guard lock(mutex_);
    forbid(block, size);
    used_.insert({static_cast<std::byte*>(block), size});
    live_bytes_ -= size;
  }

  StorageStatistics statistics() {
    const std::lock_guard lock(mutex_);
    return {live_bytes_, used_.total(), system_allocations_};
  }

  void release_unused() {
    const std::lock_guard lock(mutex_);
    std::vector<MemoryRange> all;
    while (const std::optional<MemoryRange> range = used_.take_best_fit(1)) {
      all.push_back(*range);
    }
    for (const MemoryRange& range : all) {
      release(range);
    }
  }

 private:
  // Takes a block of unused memory. It starts in the free used memory before it, if there is some.
  std::optional<MemoryRange> take_fresh(std::size_t size) {
    std::optional<MemoryRange> fresh = fresh_.take_best_fit(size);
    if (!fresh) {
      const std::optional<MemoryRange> region = map_region(size);
      if (!region) {
        return std::nullopt;
      }
      fresh_.insert(*region);
      fresh = fresh_.take_best_fit(size);
    }
    const MemoryRange before = used_.take_before(fresh->begin).value_or(MemoryRange{});
    const MemoryRange block{fresh->begin - before.size, size};
    fresh_.insert({block.begin + size, fresh->size + before.size - size});
    ++system_allocations_;
    return block;
  }

  // Regions are never unmapped.
  std::optional<MemoryRange> map_region(std::size_t size) {
    const std::size_t needed = rounded_up(size, kHugePage);
    // Regions grow with the mapped memory, so that few blocks find the rest of a region too short.
    const std::size_t wanted = std::max({needed, kSmallestRegion, mapped_bytes_ / 4});
    for (const std::size_t region : {rounded_up(wanted, kHugePage), needed}) {
      // Adds room to align the start to a huge page.
      void* start = mmap(nullptr, region + kHugePage, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (start != MAP_FAILED) {
        const auto address = reinterpret_cast<std::uintptr_t>(start);
        auto* begin = static_cast<std::byte*>(start) + (rounded_up(address, kHugePage) - address);
        madvise(begin, region, MADV_HUGEPAGE);  // advice only: failure is harmless
        mapped_bytes_ += region;
        forbid(begin, region);
        return MemoryRange{begin, region};
      }
    }
    return std::nullopt;
  }

  // Returns the whole huge pages of a free range to the system; they are unused memory then.
  void release(const MemoryRange& range) {
    const auto address = reinterpret_cast<std::uintptr_t>(range.begin);
    const std::size_t head = rounded_up(address, kHugePage) - address;
    const std::size_t pages = range.size > head ? (range.size - head) / kHugePage : 0;
    if (pages == 0 || madvise(range.begin + head, pages * kHugePage, MADV_DONTNEED) != 0) {
      used_.insert(range);
      return;
    }
    const std::size_t released = pages * kHugePage;
    used_.insert({range.begin, head});
    fresh_.insert({range.begin + head, released});
    used_.insert({range.begin + head + released, range.size - head - released});
  }

  std::mutex mutex_;
  FreeRanges used_;   // free ranges that blocks used before
  FreeRanges fresh_;  // free ranges never used, or returned to the system
  std::size_t mapped_bytes_ = 0;
  std::size_t live_bytes_ = 0;
  std::size_t system_allocations_ = 0;
};

// Never destroyed: static tensors may return blocks after main().
Arena& arena() {
  static auto* arena = new Arena;
  return *arena;
}

}  // namespace

Storage::Storage(std::size_t bytes) {
  const bool possible = bytes <= std::numeric_limits<std::size_t>::max() / 4;
  bytes_ = possible ? block_size(bytes) : 0;
  data_ = possible ? arena().take(bytes_) : nullptr;
  require(data_ != nullptr, "[memory] cannot allocate ", bytes, " bytes");
  allow(data_, std::max<std::size_t>(bytes, 1));
}

Storage::Storage(void* data, std::size_t bytes, std::shared_ptr<void> owner)
    : data_(data), bytes_(bytes), owner_(std::move(owner)) {}

Storage::~Storage() { release(); }

void Storage::release() {
  if (owner_ != nullptr) {
    owner_ = nullptr;
  } else if (data_ != nullptr) {
    arena().give_back(data_, bytes_);
  }
  data_ = nullptr;
}

StorageStatistics storage_statistics() { return arena().statistics(); }

void release_unused_storage() { arena().release_unused(); }

}  // namespace headlight
