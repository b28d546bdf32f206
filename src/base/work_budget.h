#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/stopwatch.h"
#include "headlight/base/error.h"

namespace headlight {

// Limit of the work on one untrusted input, such as the body of a request: a time, and a function
// that returns whether the result is still wanted. Code spends units in proportion to its work.
// Copies share the limit.
class WorkBudget {
 public:
  // No limit.
  WorkBudget() = default;
  // The time runs from now on. `about`: the input, for the message.
  WorkBudget(std::string about, double seconds, std::function<bool()> is_wanted)
      : limit_(std::make_shared<Limit>(
            Limit{std::move(about), seconds, std::move(is_wanted), Stopwatch(), 0})) {}

  // Counts work. A unit is a value that is read, compared or copied, or some 64 bytes. Throws Error
  // once the time is over or the result is no longer needed.
  void spend(std::size_t units) const {
    if (limit_ != nullptr && (limit_->spent += units) >= kUnitsBetweenChecks) {
      check();
    }
  }
  // Throws as spend() does, whatever has been spent.
  void check() const {
    if (limit_ == nullptr) {
      return;
    }
    limit_->spent = 0;
    require(limit_->is_wanted(), limit_->about, ": nobody waits for the result any more");
    require_value(limit_->watch.seconds() < limit_->seconds, limit_->about, "takes longer than ",
                  limit_->seconds, " seconds to read: ask for less at once");
  }

 private:
  static constexpr std::size_t kUnitsBetweenChecks = 1024;
  struct Limit {
    std::string about;
    double seconds;
    std::function<bool()> is_wanted;
    Stopwatch watch;
    std::size_t spent;  // units since the last check
  };

  std::shared_ptr<Limit> limit_;
};

}  // namespace headlight
