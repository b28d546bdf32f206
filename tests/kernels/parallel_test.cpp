#include "kernels/parallel.h"

#include <atomic>
#include <vector>

#include "support/tensors.h"

using namespace headlight;
using namespace headlight::test;

TEST_CASE("a parallel loop visits every item once, in chunks that do not depend on the threads") {
  for (const int threads : {1, 2, 3, 8}) {
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

TEST_CASE("SingleThreadScope holds OpenMP to one thread and lets go again") {
  const ThreadScope scope(3);
  {
    const kernels::SingleThreadScope single;
    CHECK(thread_count() == 1);
  }
  CHECK(thread_count() == 3);
}

TEST_CASE("every member of a team runs once and has a share of its own") {
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadScope scope(threads);
    for (const Index wanted : {Index{1}, Index{2}, Index{100}}) {
      std::vector<std::atomic<int>> visits(29);
      std::atomic<Index> members{0};
      std::atomic<Index> size{0};
      kernels::parallel_team(wanted, [&](const kernels::TeamMember& me) {
        ++members;
        size = me.size;
        for (Index i = me.share_begin(29); i < me.share_end(29); ++i) {
          ++visits[static_cast<std::size_t>(i)];
        }
      });
      CHECK(members == std::min<Index>(wanted, threads));
      CHECK(size == members);
      for (const auto& count_of_visits : visits) {
        CHECK(count_of_visits == 1);
      }
    }
  }
}

TEST_CASE("a barrier shows each member what the others did before") {
  const ThreadScope scope(3);
  std::vector<Index> numbers(3);
  std::atomic<int> wrong{0};
  kernels::parallel_team(3, [&](const kernels::TeamMember& me) {
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
    kernels::parallel_team(4, [&](const kernels::TeamMember& me) {
      members += me.size == 1 && me.index == 0 ? 1 : 100;
      me.barrier();
    });
  });
  CHECK(members == 4);
}
