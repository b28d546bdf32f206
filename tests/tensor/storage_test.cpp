#include "headlight/tensor/storage.h"

#include <cstdint>
#include <limits>
#include <optional>

#include "support/tensors.h"

using namespace headlight;
using namespace headlight::test;

// AddressSanitizer reads this in its own builds: memory that cannot be had is a null pointer there
// too, instead of the end of the program.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace {

std::uintptr_t address(Storage& storage) {
  return reinterpret_cast<std::uintptr_t>(storage.data());
}

constexpr std::size_t kMiB = std::size_t{1} << 20;

}  // namespace

TEST_CASE("blocks hold what was asked for and start on a 64-byte boundary") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{100},
                                  std::size_t{513}, kMiB - 1}) {
    Storage storage(bytes);
    REQUIRE(storage.data() != nullptr);
    CHECK(storage.bytes() >= bytes);
    CHECK(address(storage) % 64 == 0);
    static_cast<unsigned char*>(storage.data())[storage.bytes() - 1] = 1;
  }
}

TEST_CASE("at most an eighth of a large block is unused") {
  for (const std::size_t bytes : {std::size_t{4097}, std::size_t{70000}, 3 * kMiB + 1}) {
    Storage storage(bytes);
    CHECK(storage.bytes() - bytes < bytes / 8);
  }
}

TEST_CASE("blocks of 2 MiB and more are aligned for huge pages") {
  Storage storage(5 * kMiB);
  CHECK(address(storage) % (2 * kMiB) == 0);
}

TEST_CASE("a freed block serves the next request of about its size without asking the system") {
  std::optional<Storage> first(std::in_place, 100000);
  void* const block = first->data();
  first.reset();
  const std::size_t before = storage_statistics().system_allocations;
  const Storage again(100000);
  Storage other_size(99000);  // rounds to the same size, but the block is taken
  CHECK(const_cast<Storage&>(again).data() == block);
  CHECK(other_size.data() != block);
  CHECK(storage_statistics().system_allocations <= before + 1);
}

TEST_CASE("the statistics move bytes from live to cached when a block is freed") {
  const StorageStatistics before = storage_statistics();
  std::optional<Storage> storage(std::in_place, 3333);
  const std::size_t bytes = storage->bytes();
  CHECK(storage_statistics().live_bytes == before.live_bytes + bytes);
  const std::size_t cached = storage_statistics().cached_bytes;
  storage.reset();
  CHECK(storage_statistics().live_bytes == before.live_bytes);
  CHECK(storage_statistics().cached_bytes == cached + bytes);
  storage.emplace(3333);
  CHECK(storage_statistics().cached_bytes == cached);
}

TEST_CASE("repeating the same work allocates from the system only at first") {
  const auto work = [] { return Tensor::zeros({123, 77}).clone().numel(); };
  work();
  const std::size_t before = storage_statistics().system_allocations;
  for (int step = 0; step < 10; ++step) {
    work();
  }
  CHECK(storage_statistics().system_allocations == before);
}

TEST_CASE("memory that cannot be had is an error that names the bytes") {
  const std::size_t live = storage_statistics().live_bytes;
  const std::size_t absurd = std::size_t{1} << 61;
  CHECK(mentions(error_of([&] { Storage storage(absurd); }), {"[memory]", "2305843009213693952"}));
  CHECK(storage_statistics().live_bytes == live);
}
