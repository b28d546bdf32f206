#pragma once

#include <cstddef>
#include <memory>

namespace headlight {

// A block of bytes on a 64-byte boundary. Blocks come from a process-wide cache: a training loop
// that repeats the same sizes asks the system for memory only in its first steps. Blocks of 2 MiB
// and more are aligned for huge pages, which the system is advised to use.
class Storage {
 public:
  // Throws Error when the memory cannot be had, naming the bytes asked for.
  explicit Storage(std::size_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct StorageStatistics {
  std::size_t live_bytes = 0;          // in use by tensors, rounded to the cache's sizes
  std::size_t cached_bytes = 0;        // free, waiting to be used again
  std::size_t system_allocations = 0;  // times the cache had to ask the system
};

StorageStatistics storage_statistics();

}  // namespace headlight
