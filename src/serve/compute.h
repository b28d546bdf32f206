#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/stopwatch.h"
#include "headlight/generate/engine.h"
#include "headlight/serve/server.h"

namespace headlight::serve {

// What the computing thread has done and is at.
struct ComputeStatus {
  EngineStatus engines;      // of all models together
  Index context_tokens = 0;  // of all models together
  Index requests = 0;        // that run or wait
  Index jobs = 0;            // that run or wait
  Index slices = 0;          // of jobs, behind which others were served
  double job_tokens = 0;     // that jobs have read, times passes
  // Of steps that chose tokens: how many took up to so many seconds, and all of them.
  static constexpr std::array kStepBounds{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5};
  std::array<Index, kStepBounds.size()> steps_up_to = {};
  Index steps = 0;
  double step_seconds = 0;
};

// How soon a job has to be over, the soonest first. Between the parts of one come those that are
// more urgent.
enum class Urgency {
  live,        // what follows the text that somebody types
  asked,       // what somebody waits for, and may take a while
  background,  // what nobody waits for
};

// The one thread that computes: texts of all requests side by side, a token each at a time, and
// between two tokens at most one job of each urgency. Every call is for any thread and returns at
// once.
class Compute {
 public:
  struct Options {
    WeightFormat weights = WeightFormat::float32;
    Index slots = 16;
    Index queue = 64;
    Index context_tokens = 0;
  };
  using Ticket = std::uint64_t;
  struct Job {
    std::function<void()> run;        // must not throw
    std::function<bool()> is_wanted;  // false: nobody waits for it any more, and it is not begun
  };

  // The models must outlive it.
  Compute(const std::vector<ServedModel>& models, const Options& options);
  ~Compute();

  // Requests that come and are cancelled together; their callbacks are called by the computing
  // thread, and always come to an end with on_end or on_error, except after cancel(). Throws
  // ApiError, 429, when too many wait, and Error for a request that can never be run.
  Ticket begin(std::size_t model, std::vector<Request> requests);
  // Their places are free before the next token.
  void cancel(Ticket ticket);
  // Throws ApiError, 429, when as many of that urgency wait as requests may.
  void run(Urgency urgency, Job job);
  // By a job of that urgency, amid it and with the models as they were: takes a step for all texts
  // and a job of each urgency above, and goes on with them, in the background with texts alone as
  // well, until that has taken four times as long as the part of the job before it. Throws Error
  // once stop() has been called.
  void serve_others(Urgency urgency);
  // By a job: tokens times passes that it has computed.
  void count_job_tokens(double tokens);
  // Ends the thread after the step that it is at; nothing that waits is run.
  void stop();

  ComputeStatus status() const;

 private:
  static constexpr auto kUrgencies = static_cast<std::size_t>(Urgency::background) + 1;
  struct Model {
    Decoder decoder;
    std::unique_ptr<Engine> engine;
  };
  struct Running {
    std::size_t model = 0;
    std::vector<RequestId> ids;
    Index left = 0;  // texts that have not ended
  };

  void work();
  bool wait_for_work(bool is_busy);
  void follow_orders();
  void run_next_jobs(std::size_t before);
  void run_next_job(std::size_t urgency);
  bool step_all();
  void make_engine(std::size_t model);
  void drop_all(std::size_t model);
  void begin_now(Ticket ticket, std::size_t model, std::vector<Request> requests);
  void watch_end(Request& request, Ticket ticket);
  void ended(Ticket ticket, Index texts);
  void publish(double seconds);
  bool has_jobs(std::size_t before) const;
  Index most_requests() const { return options_.slots + options_.queue; }
  // Of those that wait, what nobody wants any more; under the lock, behind which they are let go.
  std::vector<Job> take_unwanted(std::size_t urgency);

  Options options_;
  const std::vector<ServedModel>& served_;
  std::vector<Model> models_;
  // Of the computing thread.
  std::map<Ticket, Running> running_;
  Stopwatch part_;             // of the job that runs
  bool has_run_jobs_ = false;  // since free memory was given back

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::function<void()>> inbox_;  // what the computing thread does before its next step
  std::array<std::deque<Job>, kUrgencies> jobs_;
  ComputeStatus status_;
  Ticket last_ticket_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace headlight::serve
