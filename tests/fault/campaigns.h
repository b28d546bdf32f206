#pragma once

#include <string>
#include <vector>

namespace headlight::fault {

// What a campaign did and found. It prints its figures itself.
class Tally {
 public:
  explicit Tally(std::string name) : name_(std::move(name)) {}

  void count(const std::string& what, long number = 1);
  void problem(const std::string& text);
  // Prints a line of figures and the problems. True when there are none.
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

// kill -9 at random instants of a run of a few hundred updates, until that many have struck.
bool run_kills(long count, unsigned seed);

// kill -9 of one process of those that train together; those that resume are of another number.
bool run_ranks(long count, unsigned seed);

// A fault at the first call, at the second, and so on until a run completes. `kind` as in plan.h;
// with "+" at its end all later calls fail as well.
bool run_calls(const std::string& kind);

struct PowerOptions {
  long limit = 0;            // states that are tried, evenly chosen; 0: all
  bool ignore_sync = false;  // treats every fsync as if it were not there: must find losses
  unsigned seed = 0;
};

// Power failures at every instant.
bool run_power(const PowerOptions& options);

// SIGINT and SIGTERM at random instants, once and twice.
bool run_signals(long count, unsigned seed);

// Several programs on one run directory; the holder of the lock is killed.
bool run_lock();

}  // namespace headlight::fault
