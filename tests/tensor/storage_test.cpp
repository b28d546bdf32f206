#include "support/test.h"

std::uintptr_t address(Storage& storage) {
  return reinterpret_cast<std::uintptr_t>(storage.data());
}

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST_CASE("blocks have at least the requested size and start on a 64-byte boundary") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{100},
                                  std::size_t{513}, kMiB - 1}) {
    Storage storage(bytes);
    REQUIRE(storage.data() != nullptr);
    CHECK(storage.bytes() >= bytes);
    CHECK(address(storage) % 64 == 0);
    static_cast<unsigned char*>(storage.data())[std::max<std::size_t>(bytes, 1) - 1] = 1;
  }
}

TEST_CASE("less than 128 bytes of a block are unused") {
  for (const std::size_t bytes : {std::size_t{4097}, std::size_t{70000}, 3 * kMiB + 1}) {
    Storage storage(bytes);
    CHECK(storage.bytes() - bytes < 128);
  }
}

TEST_CASE("a freed block serves the next request of about its size without asking the system") {
  std::optional<Storage> first(std::in_place, 100000);
  void* const block = first->data();
  first.reset();
  const std::size_t before = storage_statistics().system_allocations;
  const Storage again(100000);
  Storage other_size(99000);  // the block is taken
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

TEST_CASE("repeated work takes memory from the system only the first time") {
  const auto work = [] { return Tensor::zeros({123, 77}).clone().numel(); };
  work();
  const std::size_t before = storage_statistics().system_allocations;
  for (int step = 0; step < 10; ++step) {
    work();
  }
  CHECK(storage_statistics().system_allocations == before);
}

TEST_CASE("a failed allocation is an error that names the bytes") {
  const std::size_t live = storage_statistics().live_bytes;
  const std::size_t absurd = std::size_t{1} << 61;
  check_error([&] { Storage storage(absurd); }, {"[memory]", "2305843009213693952"});
  CHECK(storage_statistics().live_bytes == live);
}

TEST_CASE("a block takes the smallest free range that holds it") {
  release_unused_storage();
  std::optional<Storage> small(std::in_place, 3 * kMiB);
  const Storage wall(1000);
  std::optional<Storage> large(std::in_place, 8 * kMiB);
  const Storage other_wall(1000);
  void* const small_place = small->data();
  void* const large_place = large->data();
  const std::size_t held = storage_statistics().cached_bytes;
  large.reset();
  small.reset();
  CHECK(storage_statistics().cached_bytes > held);
  Storage fits_both(3 * kMiB);
  Storage fits_large(7 * kMiB);
  CHECK(fits_both.data() == small_place);
  CHECK(fits_large.data() == large_place);
}

TEST_CASE("free blocks that touch serve a request as large as all of them") {
  release_unused_storage();
  std::vector<std::optional<Storage>> blocks(20);
  for (auto& block : blocks) {
    block.emplace(5 * kMiB);
  }
  const std::size_t before = storage_statistics().system_allocations;
  for (const int i : {1, 3, 2, 0, 19, 17, 18, 4, 6, 5, 7, 16, 15, 8, 10, 9, 14, 12, 13, 11}) {
    blocks[static_cast<std::size_t>(i)].reset();
  }
  const Storage whole(60 * kMiB);
  CHECK(storage_statistics().system_allocations <= before + 1);
  CHECK(storage_statistics().cached_bytes >= 20 * kMiB);
}

TEST_CASE("blocks that live at the same time do not overlap") {
  constexpr std::size_t kCount = 60;
  std::vector<std::optional<Storage>> blocks(kCount);
  std::vector<std::size_t> sizes(kCount, 0);
  const RandomStream random{3, 4};
  const auto holds = [&](std::size_t i) {
    const auto* bytes = static_cast<const unsigned char*>(blocks[i]->data());
    return std::all_of(bytes, bytes + sizes[i], [&](unsigned char byte) { return byte == i; });
  };
  bool all_hold = true;
  for (std::uint64_t step = 0; step < 3000; ++step) {
    const std::size_t i = random.below(2 * step, kCount);
    if (blocks[i]) {
      all_hold = all_hold && holds(i);
      blocks[i].reset();
    } else {
      sizes[i] = random.below(2 * step + 1, 1U << (step % 18));
      blocks[i].emplace(sizes[i]);
      std::fill_n(static_cast<unsigned char*>(blocks[i]->data()), sizes[i],
                  static_cast<unsigned char>(i));
    }
  }
  CHECK(all_hold);
}

TEST_CASE("several threads take and give back blocks at the same time") {
  const std::size_t live = storage_statistics().live_bytes;
  std::atomic<bool> intact{true};
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([number, &intact] {
      for (std::size_t i = 0; i < 2000; ++i) {
        Storage storage(sizeof(int) * (1 + i % 700));
        int* values = static_cast<int*>(storage.data());
        std::fill_n(values, 1 + i % 700, number);
        intact = intact && std::count(values, values + 1 + i % 700, number) ==
                               static_cast<std::ptrdiff_t>(1 + i % 700);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(intact);
  CHECK(storage_statistics().live_bytes == live);
}

TEST_CASE("unused storage can be given back to the system and taken again as zeros") {
  std::optional<Storage> storage(std::in_place, 64 * kMiB);
  std::fill_n(static_cast<unsigned char*>(storage->data()), 64 * kMiB,
              static_cast<unsigned char>(1));
  storage.reset();
  const std::size_t cached = storage_statistics().cached_bytes;
  release_unused_storage();
  CHECK(storage_statistics().cached_bytes <= cached - 60 * kMiB);
  const std::size_t before = storage_statistics().system_allocations;
  storage.emplace(64 * kMiB);
  CHECK(storage_statistics().system_allocations == before + 1);
  CHECK(static_cast<unsigned char*>(storage->data())[32 * kMiB] == 0);
}

TEST_CASE("borrowed elements stay the owner's until the last tensor goes") {
  auto values = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4, 5, 6});
  const std::weak_ptr<std::vector<float>> watch = values;
  {
    Tensor tensor = Tensor::borrow(values->data(), {2, 3}, DType::float32, values);
    CHECK(tensor.to_vector() == std::vector<double>{1, 2, 3, 4, 5, 6});
    tensor.fill(7);
    CHECK(values->at(5) == 7);
    const Tensor view = tensor.strided_view({2}, {3}, 2);
    CHECK_THROWS(tensor.strided_view({7}, {1}));
    tensor = Tensor();
    values = nullptr;
    CHECK_FALSE(watch.expired());
    CHECK(view.to_vector() == std::vector<double>{7, 7});
  }
  CHECK(watch.expired());
}
