#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/stopwatch.h"
#include "headlight/generate/engine.h"
#include "headlight/serve/server.h"
#include "questions/urgency.h"

namespace headlight::serve {

// Counters of the computing thread.
struct ComputeStatus {
  EngineStatus engines;      // sums over all models
  Index context_tokens = 0;  // positions of all key/value caches
  Index requests = 0;        // running or waiting
  Index jobs = 0;            // running or waiting
  Index slices = 0;          // slices of jobs after which other work ran
  double job_tokens = 0;     // computed by jobs, tokens times passes
  // Durations of steps that sampled tokens: upper bounds in seconds, cumulative counts, totals.
  static constexpr std::array kStepBounds{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5};
  std::array<Index, kStepBounds.size()> steps_up_to = {};
  Index steps = 0;
  double step_seconds = 0;
};

// Runs all models. Each step samples one token for every sequence. Between two steps at most one
// job of each urgency runs. start() does this on a thread of its own, step() on the caller's.
// begin(), cancel(), run() and status() are thread-safe and return at once.
class Compute {
 public:
  using Ticket = std::uint64_t;
  struct Job {
    std::function<void()> run;        // must not throw
    std::function<bool()> is_wanted;  // false: the client has gone, and the job is dropped
    std::size_t bytes = 0;            // memory of the job
  };

  // `models` must outlive this. `options.context_tokens` must not be 0.
  Compute(const std::vector<ServedModel>& models, const ServeOptions& options);
  ~Compute();

  // Starts the thread that runs the models.
  void start();
  // Without start(): follows new orders, runs one job of each urgency and one step of every engine.
  // Returns false when nothing is left to do.
  bool step();

  // Queues requests that are cancelled together and take `bytes` of memory. The computing thread
  // calls their callbacks; each ends with on_end or on_error, except after cancel() or an engine
  // failure. Throws ApiError: 400 above context_tokens, 429 when the queue or its memory is full.
  // Throws Error for invalid options.
  Ticket begin(std::size_t model, std::vector<Request> requests, std::size_t bytes = 0);
  // Cancels the requests of a ticket before the next step.
  void cancel(Ticket ticket);
  // Queues a job. Throws ApiError (429) when slots + queue jobs of that urgency wait, or the memory
  // of the queue is full.
  void run(Urgency urgency, Job job);
  // Called by a running job between slices, with its model changes detached. Runs a step and more
  // urgent jobs; repeats while such jobs wait (a background job: also while sequences run), up to
  // four times the duration of the last slice. Throws Error after stop().
  void run_more_urgent(Urgency urgency);
  // Adds the tokens times passes that a job has computed.
  void count_job_tokens(double tokens);
  // Ends the thread after its current step. Drops waiting requests and jobs.
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
    Index left = 0;  // samples that have not ended
    std::size_t bytes = 0;
  };

  void work();
  bool wait_for_work(bool is_busy);
  void drain_commands();
  void run_next_jobs(std::size_t before);
  void run_next_job(std::size_t urgency);
  bool step_all();
  void make_engine(std::size_t model);
  void drop_all(std::size_t model);
  void begin_now(Ticket ticket, std::size_t model, std::vector<Request> requests,
                 std::size_t bytes);
  void watch_end(Request& request, Ticket ticket);
  void ended(Ticket ticket, Index texts);
  void publish(double seconds);
  bool has_jobs(std::size_t before) const;
  Index most_requests() const { return options_.slots + options_.queue; }
  void drop_unwanted(std::size_t urgency);
  void reserve(std::size_t bytes);
  void give_back(std::size_t bytes);

  ServeOptions options_;
  const std::vector<ServedModel>& served_;
  std::vector<Model> models_;
  // Used by the computing thread alone.
  std::map<Ticket, Running> running_;
  Stopwatch part_;  // duration of the running job's current slice

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  bool has_unused_memory_ = false;            // jobs or large requests ended since it was released
  std::vector<std::function<void()>> inbox_;  // calls for the computing thread before its next step
  std::array<std::deque<Job>, kUrgencies> jobs_;
  ComputeStatus status_;
  std::size_t bytes_ = 0;  // memory of all requests and jobs
  Ticket last_ticket_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace headlight::serve
