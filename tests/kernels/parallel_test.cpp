#include "kernels/threads/parallel.h"
#include "kernels/machine/simulated_cores.h"
#include "kernels/threads/openmp.h"
#include "support/test.h"

TEST_CASE("a parallel loop visits every item once, in chunks that do not depend on the threads") {
  for (const int threads : {1, 2, 3, 8, 2, 1, 5}) {
    const ThreadScope scope(threads);
    for (const Index count : {Index{0}, Index{1}, Index{9}, Index{10}, Index{11}, Index{1000}}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      std::atomic<int> wrong{0};
      kernels::parallel_chunks(count, 10, [&](Index thread, Index chunk, Index begin, Index end) {
        wrong += begin == chunk * 10 && end == std::min(count, begin + 10) ? 0 : 1;
        wrong += thread >= 0 && thread < threads ? 0 : 1;
        for (Index i = begin; i < end; ++i) {
          ++visits[static_cast<std::size_t>(i)];
        }
      });
      CHECK(wrong == 0);
      for (const auto& count_of_visits : visits) {
        CHECK(count_of_visits == 1);
      }
    }
  }
}

TEST_CASE("a parallel loop inside another runs on the thread it started on") {
  const ThreadScope scope(4);
  std::atomic<int> inner_items{0};
  std::atomic<int> on_others{0};
  std::atomic<int> would_fork{0};
  kernels::parallel_for(4, 1, [&](Index, Index) {
    would_fork += kernels::max_threads() == 1 ? 0 : 1;
    kernels::parallel_chunks(8, 1, [&](Index thread, Index, Index, Index) {
      ++inner_items;
      on_others += thread == 0 ? 0 : 1;
    });
  });
  CHECK(would_fork == 0);
  CHECK(inner_items == 32);
  CHECK(on_others == 0);
}

TEST_CASE("row_grain makes chunks of about the same work whatever the row length") {
  CHECK(kernels::row_grain(0) == kernels::kElementGrain);
  CHECK(kernels::row_grain(1) == kernels::kElementGrain);
  CHECK(kernels::row_grain(kernels::kElementGrain) == 1);
  CHECK(kernels::row_grain(10 * kernels::kElementGrain) == 1);
  CHECK(kernels::row_grain(100) * 100 <= kernels::kElementGrain);
}

TEST_CASE("chunk_count covers the last, smaller chunk") {
  CHECK(kernels::chunk_count(0, 10) == 0);
  CHECK(kernels::chunk_count(10, 10) == 1);
  CHECK(kernels::chunk_count(11, 10) == 2);
}

TEST_CASE("SingleThreadScope limits a thread to serial loops until it ends") {
  const ThreadScope scope(3);
  {
    const kernels::SingleThreadScope single;
    CHECK(thread_count() == 1);
    CHECK(kernels::max_threads() == 1);
    std::thread([] { CHECK(thread_count() == 3); }).join();
  }
  CHECK(thread_count() == 3);
}

TEST_CASE("simulated cores divide loops as many threads would and run them on one") {
  const ThreadScope scope(2);
  {
    kernels::SimulatedCores simulation(64);
    CHECK(kernels::max_threads() == 64);
    const std::thread::id caller = std::this_thread::get_id();
    kernels::parallel_for(4, 1, [&](Index begin, Index) {
      CHECK(std::this_thread::get_id() == caller);
      CHECK(kernels::max_threads() == 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(begin == 0 ? 30 : 10));
    });
    kernels::parallel_for(1, 1, [](Index, Index) {});  // on one thread in any case
    REQUIRE(simulation.loops().size() == 1);
    const kernels::LoopTime& time = simulation.loops().front();
    CHECK(time.sum >= 0.06);
    CHECK(time.longest >= 0.03);
    CHECK(time.longest <= time.sum - 0.03);
  }
  CHECK(kernels::max_threads() == 2);
}

TEST_CASE("OpenMpThreadScope limits the number of OpenMP threads until it ends") {
  const int before = kernels::openmp_thread_count();
  {
    const kernels::OpenMpThreadScope scope(before + 2);
    CHECK(kernels::openmp_thread_count() == before + 2);
  }
  CHECK(kernels::openmp_thread_count() == before);
}

constexpr int kChunks = 8;

// Runs kChunks chunks on two threads. The first chunk of thread `held` waits for all others.
// Returns the number of chunks of the other thread; none if it never started.
std::optional<int> taken_by_other(Index held) {
  std::atomic<int> done{0};
  std::atomic<int> taken{0};
  std::atomic<bool> begun{false};
  std::atomic<bool> other_came{false};
  kernels::parallel_chunks(kChunks, 1, [&](Index thread, Index, Index, Index) {
    if (thread != held) {
      other_came = true;
      ++taken;
    } else if (!begun.exchange(true)) {
      for (int look = 0; look < 1000 && !other_came; ++look) {
        std::this_thread::yield();
      }
      while (other_came && done < kChunks - 1) {
        std::this_thread::yield();
      }
    }
    ++done;
  });
  return other_came && begun ? std::optional<int>(taken) : std::nullopt;
}

TEST_CASE("while one thread is delayed in a chunk the others take all remaining chunks") {
  const ThreadScope scope(2);
  for (const Index held : {0, 1}) {
    std::optional<int> taken;
    while (!taken.has_value()) {  // the helper may come late, and then the test shows nothing
      std::this_thread::yield();
      taken = taken_by_other(held);
    }
    CHECK(*taken == kChunks - 1);
  }
}

TEST_CASE("loops finish with many more threads than CPUs") {
  const ThreadScope scope(100);
  std::atomic<Index> items{0};
  for (int loop = 0; loop < 50; ++loop) {
    parallel_for(200, 1, [&](Index begin, Index end) { items += end - begin; });
  }
  CHECK(items == 50 * 200);
}

TEST_CASE("several threads may start loops and teams at once") {
  const ThreadScope scope(3);
  std::vector<Index> sums(4);
  std::vector<std::thread> callers;
  for (Index& sum : sums) {
    callers.emplace_back([&sum] {
      for (int loop = 0; loop < 300; ++loop) {
        std::vector<Index> chunks(7);
        kernels::parallel_chunks(70, 10, [&](Index, Index chunk, Index begin, Index end) {
          for (Index i = begin; i < end; ++i) {
            chunks[static_cast<std::size_t>(chunk)] += i;
          }
        });
        std::vector<Index> members(3);
        kernels::parallel_team(3, 0, [&](const kernels::TeamMember& me) {
          members[static_cast<std::size_t>(me.index)] = me.share_end(10) - me.share_begin(10);
          me.barrier();
        });
        sum = std::accumulate(chunks.begin(), chunks.end(), sum);
        sum = std::accumulate(members.begin(), members.end(), sum);
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  CHECK(sums == std::vector<Index>(4, 300 * (70 * 69 / 2 + 10)));
}

TEST_CASE("the exception of a loop's first chunk that throws reaches its caller") {
  for (const int threads : {1, 2, 5}) {
    const ThreadScope scope(threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      CHECK_THROWS_WITH(parallel_for(30, 1,
                                     [](Index begin, Index) {
                                       if (begin % 10 == 4) {
                                         throw std::runtime_error("chunk " + std::to_string(begin));
                                       }
                                     }),
                        "chunk 4");
    }
    std::atomic<int> items{0};
    parallel_for(30, 1, [&](Index, Index) { ++items; });
    CHECK(items == 30);
    CHECK(thread_count() == threads);
  }
}

TEST_CASE("every member of a team runs once and has a share of its own") {
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadScope scope(threads);
    for (const Index wanted : {Index{1}, Index{2}, Index{100}}) {
      std::vector<std::atomic<int>> visits(29);
      std::vector<std::atomic<int>> members(8);
      std::atomic<Index> size{0};
      kernels::parallel_team(wanted, 0, [&](const kernels::TeamMember& me) {
        ++members[static_cast<std::size_t>(me.index)];
        size = me.size;
        for (Index i = me.share_begin(29); i < me.share_end(29); ++i) {
          ++visits[static_cast<std::size_t>(i)];
        }
      });
      CHECK(size >= 1);
      CHECK(size <= std::min<Index>(wanted, threads));
      for (Index member = 0; member < 8; ++member) {
        CHECK(members[static_cast<std::size_t>(member)] == (member < size ? 1 : 0));
      }
      for (const auto& count_of_visits : visits) {
        CHECK(count_of_visits == 1);
      }
    }
  }
}

TEST_CASE("a team reaches its full size once all threads have arrived") {
  const ThreadScope scope(3);
  Index size = 1;
  while (size < 3) {
    constexpr Index kWorthWaiting = Index{1} << 30;
    kernels::parallel_team(3, kWorthWaiting, [&](const kernels::TeamMember& me) {
      if (me.index == 0) {
        size = me.size;
      }
    });
  }
  CHECK(size == 3);
}

TEST_CASE("after a barrier each member sees what the others wrote before it") {
  const ThreadScope scope(3);
  std::vector<Index> numbers(3);
  std::atomic<int> wrong{0};
  kernels::parallel_team(3, Index{1} << 30, [&](const kernels::TeamMember& me) {
    for (Index round = 1; round <= 500; ++round) {
      numbers[static_cast<std::size_t>(me.index)] = round;
      me.barrier();
      for (Index other = 0; other < me.size; ++other) {
        wrong += numbers[static_cast<std::size_t>(other)] == round ? 0 : 1;
      }
      me.barrier();
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("a team inside a parallel loop is one thread") {
  const ThreadScope scope(4);
  std::atomic<int> members{0};
  kernels::parallel_for(4, 1, [&](Index, Index) {
    kernels::parallel_team(4, 0, [&](const kernels::TeamMember& me) {
      members += me.size == 1 && me.index == 0 ? 1 : 100;
      me.barrier();
    });
  });
  CHECK(members == 4);
}
