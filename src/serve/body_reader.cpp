#include "serve/body_reader.h"

#include <utility>

#include "serve/api_error.h"

namespace headlight::serve {

BodyReader::BodyReader(Index most)
    : most_(most), thread_([this](const std::stop_token& stopped) { work(stopped); }) {}

void BodyReader::run(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  if (std::ssize(jobs_) >= most_ || thread_.get_stop_token().stop_requested()) {
    throw ApiError(429, "queue_full", "too many requests are being read: try again later");
  }
  jobs_.push_back(std::move(job));
  wake_.notify_one();
}

void BodyReader::stop() {
  thread_.request_stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void BodyReader::work(const std::stop_token& stopped) {
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

}  // namespace headlight::serve
