#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "headlight/base/index.h"

namespace headlight::serve {

// Thread that parses request bodies and encodes their texts, so that neither the network thread nor
// the computing thread waits for them. run() is thread-safe and returns at once.
class BodyReader {
 public:
  // `most`: limit of waiting jobs.
  explicit BodyReader(Index most);

  // Queues a job; jobs run in order and must not throw. Throws ApiError (429) when too many wait.
  void run(std::function<void()> job);
  // Ends the thread after its current job. Drops waiting jobs.
  void stop();

 private:
  void work(const std::stop_token& stopped);

  Index most_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> jobs_;
  std::jthread thread_;
};

}  // namespace headlight::serve
