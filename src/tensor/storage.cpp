#include "headlight/tensor/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "headlight/tensor/error.h"

namespace headlight {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Sizes are rounded up to one of eight steps between powers of two, so that batches of nearly the
// same length share blocks; at most an eighth of a block is unused.
constexpr std::size_t kStepsPerDoubling = 8;

// Never 0, so that empty tensors have an address as well.
std::size_t rounded_size(std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 1);
  if (bytes <= kAlignment * kStepsPerDoubling) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  const std::size_t step = std::bit_floor(bytes - 1) / kStepsPerDoubling;
  return (bytes + step - 1) / step * step;
}

// The one piece of process-wide state of the library, as malloc's own is.
class BlockCache {
 public:
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    statistics_.live_bytes += bytes;
    std::vector<void*>& blocks = free_[bytes];
    if (blocks.empty()) {
      return allocate(bytes);
    }
    void* block = blocks.back();
    blocks.pop_back();
    statistics_.cached_bytes -= bytes;
    return block;
  }

  void give_back(void* block, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    free_[bytes].push_back(block);
    statistics_.live_bytes -= bytes;
    statistics_.cached_bytes += bytes;
  }

  StorageStatistics statistics() {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  void* allocate(std::size_t bytes) {
    const bool huge = bytes >= kHugePage;
    const std::size_t alignment = huge ? kHugePage : kAlignment;
    const std::size_t padded = (bytes + alignment - 1) / alignment * alignment;
    void* block = std::aligned_alloc(alignment, padded);
    if (block == nullptr) {
      statistics_.live_bytes -= bytes;
      fail("[memory] cannot allocate ", bytes, " bytes");
    }
    if (huge) {
      madvise(block, padded, MADV_HUGEPAGE);  // advice only: a refusal changes nothing
    }
    ++statistics_.system_allocations;
    return block;
  }

  std::mutex mutex_;
  std::unordered_map<std::size_t, std::vector<void*>> free_;
  StorageStatistics statistics_;
};

// Never destroyed: tensors with static lifetime may give blocks back after main() has ended.
BlockCache& block_cache() {
  static auto* cache = new BlockCache;
  return *cache;
}

}  // namespace

Storage::Storage(std::size_t bytes) : bytes_(rounded_size(bytes)) {
  data_ = block_cache().take(bytes_);
}

Storage::~Storage() { block_cache().give_back(data_, bytes_); }

StorageStatistics storage_statistics() { return block_cache().statistics(); }

}  // namespace headlight
