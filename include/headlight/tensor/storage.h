#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace headlight {

// A block of bytes on a 64-byte boundary. All blocks lie in memory that the process keeps: a block
// takes the smallest free range that holds it (best fit), and free ranges that touch become one. A
// training loop therefore needs memory from the system in its first steps only, whatever sizes its
// batches have, and holds little more than it ever used at once. The memory is aligned for huge
// pages, which the system is advised to use.
class Storage {
 public:
  // Throws Error when the memory cannot be had, naming the bytes asked for.
  explicit Storage(std::size_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() { return data_; }
  std::size_t bytes() const { return bytes_; }  // taken; only those asked for may be used

  // How often the elements have been overwritten, as far as it was told.
  std::uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void raise_version() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  // Threads may write to parts of one block.
  std::atomic<std::uint64_t> version_{0};
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct StorageStatistics {
  std::size_t live_bytes = 0;    // in use by tensors
  std::size_t cached_bytes = 0;  // free, waiting to be used again
  // Times that memory had to be taken which no block had used before.
  std::size_t system_allocations = 0;
};

StorageStatistics storage_statistics();

// Gives free memory back to the system. For the end of work that needed far more than what follows.
void release_unused_storage();

}  // namespace headlight
