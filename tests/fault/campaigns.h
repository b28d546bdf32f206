#pragma once

#include <string>
#include <vector>

namespace headlight::fault {

// Counts and problems of a campaign.
class Tally {
 public:
  explicit Tally(std::string name) : name_(std::move(name)) {}

  void count(const std::string& what, long number = 1);
  // Notes a problem and the words before it; "" is none.
  void problem(const std::string& text, const std::string& before = {});
  // Prints one line of counts, and the problems. Returns true without problems.
  bool report() const;

 private:
  struct Figure {
    std::string what;
    long number = 0;
  };
  std::string name_;
  std::vector<Figure> figures_;
  std::vector<std::string> problems_;
};

// Kills a run of some hundred steps with kill -9 at random instants, `count` times in all.
bool run_kills(long count, unsigned seed);

// Kills one process of a distributed run with kill -9. Resumes with another number of processes.
bool run_ranks(long count, unsigned seed);

// Injects a fault at a random one of the first `stride` calls, `stride` calls later, and so on
// until a run completes. plan.h lists the kinds; "+" at the end of `kind` makes all later calls
// fail too.
bool run_calls(const std::string& kind, long stride);

struct PowerOptions {
  long limit = 0;            // number of states to try, evenly chosen; 0: all
  bool ignore_sync = false;  // ignores every fsync: must find losses
  unsigned seed = 0;
};

// Simulates power failures at every instant.
bool run_power(const PowerOptions& options);

// Sends SIGINT or SIGTERM at random instants, once or twice.
bool run_signals(long count, unsigned seed);

// Starts several programs on one run directory, and kills the holder of the lock.
bool run_lock();
}  // namespace headlight::fault
