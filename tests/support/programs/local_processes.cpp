#include "support/programs/local_processes.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace headlight::test {
namespace {

// Messages in transit, by sender and receiver.
struct Post {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<Index, Index>, std::deque<std::vector<std::byte>>> letters;
  Index failed = -1;  // lowest rank that gave up
};

class LocalProcess : public Processes {
 public:
  LocalProcess(Post& post, Index rank, Index count) : post_(post), rank_(rank), count_(count) {}

  Index rank() const override { return rank_; }
  Index count() const override { return count_; }

  void exchange_runs(Index partner, std::span<const std::span<const std::byte>> sent,
                     std::span<const std::span<std::byte>> received) override {
    std::unique_lock lock(post_.mutex);
    for (const std::span<const std::byte> run : sent) {
      post_.letters[{rank_, partner}].emplace_back(run.begin(), run.end());
    }
    post_.changed.notify_all();
    auto& box = post_.letters[{partner, rank_}];
    for (const std::span<std::byte> run : received) {
      post_.changed.wait(lock, [&] { return !box.empty() || post_.failed >= 0; });
      if (box.empty()) {
        throw PeerFailed(concat_text("process ", post_.failed, " has failed"));
      }
      require(box.front().size() == run.size(), "process ", rank_, " expected ", run.size(),
              " bytes of ", partner, ", got ", box.front().size());
      std::copy(box.front().begin(), box.front().end(), run.begin());
      box.pop_front();
    }
  }

  bool give_up() noexcept override {
    const std::lock_guard lock(post_.mutex);
    const bool told = post_.failed >= 0 && post_.failed < rank_;
    post_.failed = post_.failed < 0 ? rank_ : std::min(post_.failed, rank_);
    post_.changed.notify_all();
    return told;
  }

 private:
  Post& post_;
  Index rank_;
  Index count_;
};

}  // namespace

void run_processes(Index count, const std::function<void(Processes&)>& work) {
  Post post;
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (Index rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      LocalProcess process(post, rank, count);
      try {
        work(process);
      } catch (...) {
        thrown[static_cast<std::size_t>(rank)] = std::current_exception();
        process.give_up();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::exception_ptr& one : thrown) {
    if (one != nullptr) {
      std::rethrow_exception(one);
    }
  }
}

}  // namespace headlight::test
