#include "serve/compute.h"

#include <algorithm>
#include <utility>

#include "headlight/kernels/machine/memory.h"
#include "headlight/tensor/storage.h"
#include "serve/api_error.h"

namespace headlight::serve {
namespace {

EngineStatus sum(const EngineStatus& a, const EngineStatus& b) {
  return {.texts = a.texts + b.texts,
          .released = a.released + b.released,
          .waiting = a.waiting + b.waiting,
          .used_tokens = a.used_tokens + b.used_tokens,
          .kept_tokens = a.kept_tokens + b.kept_tokens,
          .prompt_tokens = a.prompt_tokens + b.prompt_tokens,
          .reused_prompt_tokens = a.reused_prompt_tokens + b.reused_prompt_tokens,
          .tokens = a.tokens + b.tokens,
          .releases = a.releases + b.releases};
}

// Positions of a prompt in a pass of its own. Other sequences wait for them, so this is the
// smallest number with about the full speed per position.
constexpr Index kPromptChunk = 64;
// Memory of an ended request that is returned to the system.
constexpr std::size_t kLargeRequest = std::size_t{1} << 20U;
// Positions of prompts in a step of texts.
constexpr Index kStepTokens = 32;

// Returns the slots that one client's request leaves to the others.
Index kept_slots(const ServeOptions& options) {
  return options.slots > 1 ? std::max<Index>(1, options.slots / 8) : 0;
}

// Returns the slots reserved for short answers, besides --slots.
Index brief_slots(const ServeOptions& options) { return (options.slots + 3) / 4; }

}  // namespace

Compute::Compute(const std::vector<ServedModel>& models, const ServeOptions& options)
    : options_(options), served_(models) {
  models_.reserve(models.size());
  for (const ServedModel& model : models) {
    models_.push_back(
        {Decoder(*model.loaded.model, WeightFormat::float32,
                 options.cache_type.value_or(default_cache_type(*model.loaded.model))),
         nullptr});
    make_engine(models_.size() - 1);
  }
  status_.context_tokens = options.context_tokens * std::ssize(models);
}

Compute::~Compute() { stop(); }

void Compute::start() {
  thread_ = std::thread([this] { work(); });
}

void Compute::make_engine(std::size_t model) {
  models_[model].engine =
      std::make_unique<Engine>(models_[model].decoder, *served_[model].loaded.tokenizer,
                               EngineOptions{.max_batch = options_.slots,
                                             .group_batch = options_.slots - kept_slots(options_),
                                             .prompt_chunk = kPromptChunk,
                                             .step_tokens = kStepTokens,
                                             .brief_batch = brief_slots(options_),
                                             .context_tokens = options_.context_tokens});
}

// Replaces an engine after a failure of a whole step (out of memory). Its clients get a 500.
void Compute::drop_all(std::size_t model) {
  make_engine(model);
  const std::lock_guard lock(mutex_);
  status_.requests -= static_cast<Index>(std::erase_if(running_, [&](const auto& entry) {
    const bool is_dropped = entry.second.model == model;
    give_back(is_dropped ? entry.second.bytes : 0);
    return is_dropped;
  }));
}

void Compute::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

// Counts the memory of a request or job; call with the lock held. A single one always fits.
void Compute::reserve(std::size_t bytes) {
  if (bytes_ > 0 && bytes_ + bytes > static_cast<std::size_t>(options_.queue_bytes)) {
    throw ApiError(429, "queue_full", "the waiting requests take too much memory: try again later");
  }
  bytes_ += bytes;
}

// Ends the memory of a request or job; call with the lock held.
void Compute::give_back(std::size_t bytes) {
  bytes_ -= bytes;
  has_unused_memory_ = has_unused_memory_ || bytes >= kLargeRequest;
}

Compute::Ticket Compute::begin(std::size_t model, std::vector<Request> requests,
                               std::size_t bytes) {
  for (const Request& request : requests) {
    request.options.validate();
    const Index needed = Engine::context_of(request, served_[model].loaded.model->block_size());
    if (needed > options_.context_tokens) {
      throw ApiError(
          400, kContextExceeded,
          concat_text("expected at most ", options_.context_tokens,
                      " tokens (in blocks of 64) in prompt and answer together, got ", needed),
          "max_tokens");
    }
  }
  const std::lock_guard lock(mutex_);
  if (status_.requests >= most_requests() || stopping_) {
    throw ApiError(429, "queue_full", "the server is busy: try again later");
  }
  reserve(bytes);
  ++status_.requests;
  const Ticket ticket = ++last_ticket_;
  inbox_.push_back([this, ticket, model, moved = std::move(requests), bytes]() mutable {
    begin_now(ticket, model, std::move(moved), bytes);
  });
  wake_.notify_all();
  return ticket;
}

void Compute::cancel(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  inbox_.push_back([this, ticket] {
    const auto running = running_.find(ticket);
    if (running != running_.end()) {
      for (const RequestId id : running->second.ids) {
        models_[running->second.model].engine->cancel(id);
      }
      ended(ticket, running->second.left);
    }
  });
  wake_.notify_all();
}

void Compute::run(Urgency urgency, Job job) {
  const auto number = static_cast<std::size_t>(urgency);
  drop_unwanted(number);
  const std::lock_guard lock(mutex_);
  auto& jobs = jobs_[number];
  if (std::ssize(jobs) >= most_requests() || stopping_) {
    throw ApiError(429, "queue_full", "too many analyses are waiting: try again later");
  }
  reserve(job.bytes);
  jobs.push_back(std::move(job));
  ++status_.jobs;
  wake_.notify_all();
}

void Compute::drop_unwanted(std::size_t urgency) {
  std::vector<Job> unwanted;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  auto& jobs = jobs_[urgency];
  const auto begin = std::stable_partition(jobs.begin(), jobs.end(),
                                           [](const Job& job) { return job.is_wanted(); });
  unwanted.assign(std::make_move_iterator(begin), std::make_move_iterator(jobs.end()));
  jobs.erase(begin, jobs.end());
  status_.jobs -= std::ssize(unwanted);
  for (const Job& job : unwanted) {
    give_back(job.bytes);
  }
}

ComputeStatus Compute::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Compute::count_job_tokens(double tokens) {
  const std::lock_guard lock(mutex_);
  status_.job_tokens += tokens;
}

void Compute::begin_now(Ticket ticket, std::size_t model, std::vector<Request> requests,
                        std::size_t bytes) {
  Running& running = running_[ticket];
  running.model = model;
  running.bytes = bytes;
  for (Request& request : requests) {
    running.left += request.samples;
  }
  for (Request& request : requests) {
    watch_end(request, ticket);
    const auto on_error = request.on_error;
    request.options.make_drafter = served_[model].make_drafter;
    request.group = ticket;
    try {
      const RequestId id = models_[model].engine->begin(std::move(request));
      if (const auto still = running_.find(ticket); still != running_.end()) {
        still->second.ids.push_back(id);
      }
    } catch (...) {
      on_error(std::current_exception());
    }
  }
}

// Extends the callbacks of a request to count the ended samples of its ticket.
void Compute::watch_end(Request& request, Ticket ticket) {
  request.on_end = [this, ticket, callback = std::move(request.on_end)](Index sample,
                                                                        GenerateResult result) {
    callback(sample, std::move(result));
    ended(ticket, 1);
  };
  request.on_error = [this, ticket, samples = request.samples,
                      callback = std::move(request.on_error)](std::exception_ptr error) {
    callback(std::move(error));
    ended(ticket, samples);
  };
}

void Compute::ended(Ticket ticket, Index texts) {
  const auto running = running_.find(ticket);
  if (running == running_.end()) {
    return;
  }
  running->second.left -= texts;
  if (running->second.left <= 0) {
    const std::size_t bytes = running->second.bytes;
    running_.erase(running);
    const std::lock_guard lock(mutex_);
    --status_.requests;
    give_back(bytes);
  }
}

bool Compute::has_jobs(std::size_t before) const {
  return std::any_of(jobs_.begin(), jobs_.begin() + static_cast<std::ptrdiff_t>(before),
                     [](const auto& jobs) { return !jobs.empty(); });
}

// Waits for work when idle; returns false when the thread must end. Releases unused memory first if
// jobs or large requests have ended: they need far more than others.
bool Compute::wait_for_work(bool is_busy) {
  const auto has_work = [this] { return stopping_ || !inbox_.empty() || has_jobs(kUrgencies); };
  std::unique_lock lock(mutex_);
  if (!is_busy && has_unused_memory_ && !has_work()) {
    has_unused_memory_ = false;
    lock.unlock();
    release_unused_storage();
    release_free_memory();
    lock.lock();
  }
  if (!is_busy) {
    wake_.wait(lock, has_work);
  }
  return !stopping_;
}

void Compute::work() {
  bool is_busy = false;
  while (wait_for_work(is_busy)) {
    is_busy = step();
  }
  // Destroys pending answers on the thread that owns them.
  models_.clear();
  running_.clear();
  const std::lock_guard lock(mutex_);
  inbox_.clear();
  jobs_ = {};
}

bool Compute::step() {
  drain_commands();
  run_next_jobs(kUrgencies);
  const bool is_busy = step_all();
  const std::lock_guard lock(mutex_);
  return is_busy || !inbox_.empty() || has_jobs(kUrgencies);
}

void Compute::drain_commands() {
  std::vector<std::function<void()>> commands;
  {
    const std::lock_guard lock(mutex_);
    commands.swap(inbox_);
  }
  for (const std::function<void()>& command : commands) {
    command();
  }
}

void Compute::run_more_urgent(Urgency urgency) {
  constexpr double kShare = 4;
  const auto before = static_cast<std::size_t>(urgency);
  const double part = part_.seconds();
  const Stopwatch elapsed;
  {
    const std::lock_guard lock(mutex_);
    ++status_.slices;
  }
  bool has_more = true;
  while (has_more) {
    drain_commands();
    const bool has_texts = step_all();
    run_next_jobs(before);
    const std::lock_guard lock(mutex_);
    require(!stopping_, "the server is shutting down");
    const bool is_wanted = has_jobs(before) || (has_texts && urgency == Urgency::background);
    has_more = is_wanted && elapsed.seconds() < kShare * part;
  }
  part_ = Stopwatch();
}

// Runs one job of each urgency from 0 to `before` - 1.
void Compute::run_next_jobs(std::size_t before) {
  for (std::size_t urgency = 0; urgency < before; ++urgency) {
    run_next_job(urgency);
  }
}

void Compute::run_next_job(std::size_t urgency) {
  drop_unwanted(urgency);
  Job job;
  {
    const std::lock_guard lock(mutex_);
    auto& jobs = jobs_[urgency];
    if (jobs.empty() || stopping_) {
      return;
    }
    job = std::move(jobs.front());
    jobs.pop_front();
  }
  part_ = Stopwatch();
  try {
    job.run();
  } catch (...) {  // out of memory while reporting an error
  }
  const std::size_t bytes = job.bytes;
  job = {};
  const std::lock_guard lock(mutex_);
  --status_.jobs;
  give_back(bytes);
  has_unused_memory_ = true;
}

// Runs one step of every engine. Returns false when no request is left.
bool Compute::step_all() {
  const Stopwatch watch;
  bool is_busy = false;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    try {
      is_busy = models_[i].engine->step() || is_busy;
    } catch (const std::exception&) {
      drop_all(i);
    }
  }
  publish(watch.seconds());
  return is_busy;
}

void Compute::publish(double seconds) {
  EngineStatus engines;
  for (const Model& model : models_) {
    engines = sum(engines, model.engine->status());
  }
  const std::lock_guard lock(mutex_);
  if (engines.tokens > status_.engines.tokens) {
    ++status_.steps;
    status_.step_seconds += seconds;
    for (std::size_t i = 0; i < status_.steps_up_to.size(); ++i) {
      status_.steps_up_to[i] += seconds <= ComputeStatus::kStepBounds[i] ? 1 : 0;
    }
  }
  status_.engines = engines;
}

}  // namespace headlight::serve
