#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "distributed/plug_in.h"

namespace headlight::cluster {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kBetweenSigns{2};
constexpr seconds kLongestSilence{20};
constexpr milliseconds kMostOfALook{200};
constexpr seconds kLongestEnd{5};           // time for all processes to end after a failure
constexpr milliseconds kLongestNews{1000};  // time until a failure reaches the others
constexpr milliseconds kLongestCancel{1000};
constexpr std::size_t kLargestMessage = std::size_t{1} << 30;  // bytes; MPI counts with int

void check(int code, const char* what) {
  if (code != MPI_SUCCESS) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    fail("MPI: ", what, ": ", std::string(text.data(), static_cast<std::size_t>(length)));
  }
}

// Calls begin(data, size) for each message, of at most kLargestMessage bytes.
template <class Byte, class Begin>
void for_each_message(std::span<const std::span<Byte>> runs, const Begin& begin) {
  for (const std::span<Byte> run : runs) {
    for (std::size_t at = 0; at < run.size(); at += kLargestMessage) {
      begin(run.data() + at, static_cast<int>(std::min(kLargestMessage, run.size() - at)));
    }
  }
}

// Waits for a message: yields at first to keep the latency low, then sleeps to free the processor
// for other processes.
class Patience {
 public:
  void wait() {
    ++rounds_;
    if (rounds_ < 64) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(rounds_ < 1024 ? 20 : 200));
    }
  }

 private:
  Index rounds_ = 0;
};

// MPI_COMM_WORLD. A thread sends signs of life to the partners of this process. So partners wait
// while process 0 evaluates or saves, but detect a hang. One thread at a time calls MPI.
class MpiProcesses : public Processes {
 public:
  MpiProcesses() {
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    require(provided >= MPI_THREAD_SERIALIZED, "MPI: this library serves one thread only");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &data_), "MPI_Comm_dup");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &signs_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(data_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(signs_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(data_, &rank_);
    MPI_Comm_size(data_, &count_);
    heard_.assign(static_cast<std::size_t>(count_), Clock::duration::zero());
    living_ = std::thread([this] { show_life(); });
  }

  ~MpiProcesses() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    living_.join();
    if (is_broken_) {
      // Ends this process after kLongestEnd. MPI_Finalize() waits for ever if a process is lost.
      std::thread([] {
        std::this_thread::sleep_for(kLongestEnd);
        std::_Exit(EXIT_FAILURE);
      }).detach();
    }
    MPI_Finalize();
  }
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;

  Index rank() const override { return rank_; }
  Index count() const override { return count_; }

  void exchange_runs(Index partner, std::span<const std::span<const std::byte>> sent,
                     std::span<const std::span<std::byte>> received) override {
    std::vector<MPI_Request> receives;
    std::vector<MPI_Request> sends;
    {
      const std::lock_guard lock(mutex_);
      const auto other = static_cast<int>(partner);
      for_each_message(received, [&](std::byte* data, int size) {
        check(MPI_Irecv(data, size, MPI_BYTE, other, 0, data_, &receives.emplace_back()),
              "MPI_Irecv");
      });
      for_each_message(sent, [&](const std::byte* data, int size) {
        check(MPI_Isend(data, size, MPI_BYTE, other, 0, data_, &sends.emplace_back()), "MPI_Isend");
      });
    }
    Patience patience;
    while (!are_done(receives, sends, partner)) {
      patience.wait();
    }
  }

  bool give_up() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      is_broken_ = true;
      for (int other = 0; other < count_; ++other) {
        if (other != rank_) {
          send_sign(other, kFailed);
        }
      }
    }
    const auto end = Clock::now() + kLongestNews;
    while (rank_ > 0 && Clock::now() < end) {
      const std::lock_guard lock(mutex_);
      hear_signs();
      if (failed_ >= 0 && failed_ < rank_) {
        return true;
      }
    }
    return false;
  }

 private:
  enum Sign : char { kAlive, kFailed };

  static bool are_done(std::vector<MPI_Request>& requests) {
    int done = 0;
    check(
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
        "an exchange");
    return done != 0;
  }

  // Gives up receives, whose memory the caller frees: MPI may not write into it afterwards. Call
  // with mutex_ held.
  static void cancel(std::vector<MPI_Request>& receives) {
    for (MPI_Request& request : receives) {
      if (request != MPI_REQUEST_NULL) {
        MPI_Cancel(&request);
      }
    }
    const auto end = Clock::now() + kLongestCancel;  // a message may be half received
    while (!are_done(receives) && Clock::now() < end) {
    }
  }

  bool are_done(std::vector<MPI_Request>& receives, std::vector<MPI_Request>& sends,
                Index partner) {
    const std::lock_guard lock(mutex_);
    const bool has_received = are_done(receives);
    if (are_done(sends) && has_received) {
      return true;
    }
    hear_signs();
    if (failed_ >= 0) {
      is_broken_ = true;
      cancel(receives);
      throw PeerFailed(concat_text("process ", failed_, " has failed"));
    }
    if (watched_ - heard_[static_cast<std::size_t>(partner)] > kLongestSilence) {
      is_broken_ = true;
      cancel(receives);
      fail("process ", partner, " of ", count_, " gives no sign of life for ",
           kLongestSilence.count(), " seconds: lost, or its connection is");
    }
    return false;
  }

  // Call with mutex_ held. Does not wait: small messages leave at once.
  void send_sign(int to, Sign sign) {
    static constexpr std::array<char, 2> kSigns{kAlive, kFailed};  // static: MPI reads them later
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Isend(&kSigns[static_cast<std::size_t>(sign)], 1, MPI_CHAR, to, 0, signs_, &request) ==
        MPI_SUCCESS) {
      MPI_Request_free(&request);
    }
  }

  // Call with mutex_ held. Counts at most kMostOfALook between two calls: where this process stood
  // still, the others may have, too.
  void hear_signs() {
    const auto now = Clock::now();
    watched_ += std::min<Clock::duration>(now - looked_, kMostOfALook);
    looked_ = now;
    int waiting = 1;
    while (waiting != 0) {
      MPI_Status status;
      if (MPI_Iprobe(MPI_ANY_SOURCE, 0, signs_, &waiting, &status) != MPI_SUCCESS || waiting == 0) {
        return;
      }
      char sign = kAlive;
      MPI_Recv(&sign, 1, MPI_CHAR, status.MPI_SOURCE, 0, signs_, MPI_STATUS_IGNORE);
      heard_[static_cast<std::size_t>(status.MPI_SOURCE)] = watched_;
      if (sign == kFailed && (failed_ < 0 || status.MPI_SOURCE < failed_)) {
        failed_ = status.MPI_SOURCE;
      }
    }
  }

  void show_life() {
    auto next = Clock::now();
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (ending_) {
          return;
        }
        hear_signs();
        if (Clock::now() >= next) {
          for (int distance = 1; distance < count_; distance *= 2) {
            send_sign(rank_ ^ distance, kAlive);
          }
          next += kBetweenSigns;
        }
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
  }

  MPI_Comm data_ = MPI_COMM_NULL;
  MPI_Comm signs_ = MPI_COMM_NULL;
  int rank_ = 0;
  int count_ = 1;
  std::mutex mutex_;  // guards MPI and the members below
  Clock::time_point looked_ = Clock::now();
  Clock::duration watched_{};           // time in which signs of life were looked for
  std::vector<Clock::duration> heard_;  // watched_ at the last sign of life, by rank
  int failed_ = -1;                     // lowest rank that has given up; -1: none
  bool is_broken_ = false;
  bool ending_ = false;
  std::thread living_;  // last: needs the members above
};

std::unique_ptr<Processes> open() { return std::make_unique<MpiProcesses>(); }

std::string describe() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string version(text.data(), static_cast<std::size_t>(length));
  return "MPI (" + version.substr(0, version.find(',')) + ")";
}

}  // namespace
}  // namespace headlight::cluster

extern "C" const headlight::cluster::PlugIn headlight_processes_plug_in;
const headlight::cluster::PlugIn headlight_processes_plug_in{
    .version = HEADLIGHT_VERSION,
    .open = headlight::cluster::open,
    .describe = headlight::cluster::describe};
