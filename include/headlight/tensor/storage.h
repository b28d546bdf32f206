#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace headlight {

// A block of bytes, aligned to 64 bytes. Blocks come from memory that the process keeps: a block
// takes the smallest free range that fits (best fit), and adjacent free ranges merge. A training
// loop therefore requests memory from the system only in its first steps, for any batch sizes, and
// keeps little more than its peak use. The memory is aligned to huge pages.
class Storage {
 public:
  // Throws Error with the number of bytes if the memory cannot be allocated.
  explicit Storage(std::size_t bytes);
  // Borrows the bytes of another library, which `owner` keeps alive.
  Storage(void* data, std::size_t bytes, std::shared_ptr<void> owner);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() { return data_; }  // null after release()
  // Frees the elements before the tensors that share them go.
  void release();
  std::size_t bytes() const { return bytes_; }  // allocated; only the requested bytes may be used

  // Number of reported overwrites of the elements.
  std::uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void raise_version() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  // Number of overwrites; atomic, because threads may write to parts of one block.
  std::atomic<std::uint64_t> version_{0};
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::shared_ptr<void> owner_;  // of borrowed bytes; null: the process's own memory
};

struct StorageStatistics {
  std::size_t live_bytes = 0;    // in use by tensors
  std::size_t cached_bytes = 0;  // free, for later use
  // Number of allocations that needed memory which no block had used before.
  std::size_t system_allocations = 0;
};

StorageStatistics storage_statistics();

// Returns free memory to the system. Call it after work that needed far more than later work will.
void release_unused_storage();

}  // namespace headlight
