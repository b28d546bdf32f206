#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "serve/api_error.h"

namespace headlight::serve {

// Thread that parses request bodies and encodes their texts, so that neither the network thread nor
// the computing thread waits for them. run() is thread-safe and returns at once.
class BodyReader {
 public:
  // `most`: limit of waiting jobs.
  explicit BodyReader(Index most)
      : most_(most), thread_([this](const std::stop_token& stopped) { work(stopped); }) {}

  // Queues a job; jobs run in order and must not throw. Throws ApiError (429) when too many wait.
  void run(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    if (std::ssize(jobs_) >= most_ || thread_.get_stop_token().stop_requested()) {
      throw ApiError(429, "queue_full", "too many requests are being read: try again later");
    }
    jobs_.push_back(std::move(job));
    wake_.notify_one();
  }
  // Ends the thread after its current job. Drops waiting jobs.
  void stop() {
    thread_.request_stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  void work(const std::stop_token& stopped) {
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stopped, [this] { return !jobs_.empty(); }) &&
           !stopped.stop_requested()) {
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      try {
        job();
      } catch (...) {  // out of memory while reporting an error
      }
      job = nullptr;  // destroys the exchange without the lock
      lock.lock();
    }
    jobs_.clear();
  }

  Index most_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> jobs_;
  std::jthread thread_;
};

}  // namespace headlight::serve
