#include <mutex>

#include "support/programs/local_processes.h"
#include "support/test.h"

TEST_CASE("gathering gives every process the texts of all processes at any length") {
  for (const Index count : {1, 2, 4, 8}) {
    run_processes(count, [&](Processes& processes) {
      const auto text_of = [](Index rank) {
        return std::string(static_cast<std::size_t>(rank % 3), static_cast<char>('a' + rank));
      };
      const std::vector<std::string> texts = gather_texts(processes, text_of(processes.rank()));
      require(static_cast<Index>(texts.size()) == count, "texts: got ", texts.size());
      for (Index rank = 0; rank < count; ++rank) {
        require(texts[static_cast<std::size_t>(rank)] == text_of(rank), "text of ", rank);
      }
    });
  }
  CHECK(gather_texts(alone(), "mine") == std::vector<std::string>{"mine"});
}

TEST_CASE("sums over processes are those of a binary tree over the ranks") {
  // Any other order of additions gives another sum: 1e17 + 1 is 1e17.
  const std::vector<double> numbers{1e17, 1, -1e17, 1, 3, 1e-9, 7, 0.5};
  const double expected = ((numbers[0] + numbers[1]) + (numbers[2] + numbers[3])) +
                          ((numbers[4] + numbers[5]) + (numbers[6] + numbers[7]));
  std::mutex mutex;
  std::vector<double> results;
  run_processes(8, [&](Processes& processes) {
    std::array sums{numbers[static_cast<std::size_t>(processes.rank())], 1.0};
    add_across(processes, sums);
    const std::lock_guard lock(mutex);
    results.push_back(sums[0]);
    require(sums[1] == 8, "a second number");
  });
  CHECK(results == std::vector<double>(8, expected));
}

TEST_CASE("process 0 decides for all and is_true_in_any is true if one process says yes") {
  run_processes(4, [](Processes& processes) {
    require(decided_by_leader(processes, processes.leads()), "the leader says yes");
    require(!decided_by_leader(processes, !processes.leads()), "the leader says no");
    require(is_true_in_any(processes, processes.rank() == 2), "one says yes");
    require(!is_true_in_any(processes, false), "nobody says yes");
  });
}

TEST_CASE("when several processes fail only the one of lowest rank reports its error") {
  std::mutex mutex;
  std::vector<std::string> told(4);
  run_processes(4, [&](Processes& processes) {
    try {
      together(processes, [&] {
        require(processes.rank() != 1 && processes.rank() != 3, "no text in ", processes.rank());
      });
    } catch (const PeerFailed& error) {
      const std::lock_guard lock(mutex);
      told[static_cast<std::size_t>(processes.rank())] = "others";
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      told[static_cast<std::size_t>(processes.rank())] = error.what();
    }
  });
  CHECK(told == std::vector<std::string>{"others", "no text in 1", "others", "others"});
  run_processes(4, [](Processes& processes) { together(processes, [] {}); });
  CHECK_THROWS_WITH(together(alone(), [] { fail("by itself"); }), "by itself");
}

TEST_CASE("a process that waits for a failed process gets an error") {
  std::string told;
  run_processes(2, [&](Processes& processes) {
    if (processes.rank() == 1) {
      processes.give_up();
      return;
    }
    try {
      gather_texts(processes, "waiting");
    } catch (const PeerFailed& error) {
      told = error.what();
    }
  });
  CHECK(told == "process 1 has failed");
}
