#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "headlight/base/index.h"

namespace headlight::serve {

// A thread that reads bodies, whose texts become tokens: neither other clients nor texts that are
// being made wait for it. Every call is for any thread and returns at once.
class Reader {
 public:
  // `most`: jobs that may wait.
  explicit Reader(Index most);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // In the order in which they come; they must not throw. Throws ApiError, 429, when too many wait.
  void run(std::function<void()> job);
  // Ends the thread after the job that it is at; others are not run.
  void stop();

 private:
  void work();

  Index most_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace headlight::serve
