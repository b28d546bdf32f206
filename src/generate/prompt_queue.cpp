#include "generate/prompt_queue.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace headlight {

PromptQueue::PromptQueue(Decoder& decoder, const EngineOptions& options,
                         const std::list<RunningText>& texts, ContextRoom& room)
    : decoder_(decoder), options_(options), texts_(texts), room_(room) {}

// Returns false with a hook, which must see the whole prompt and may change keys and values, and
// for longrope, whose keys depend on the length of the text.
bool PromptQueue::keeps_prefixes(const Request& request) const {
  return options_.context_tokens > 0 && options_.prompt_chunk > 0 && request.hook == nullptr &&
         std::ssize(request.prompt) <= decoder_.model().block_size() &&
         !decoder_.changes_keys(1, decoder_.model().block_size());
}

// Positions that stay free when a prompt begins, so that the running texts can grow and an older
// text without room gets it before.
Index PromptQueue::spare_room(const RunningRequest& request) const {
  if (request.is_brief() || request.is_overdue()) {
    return 0;
  }
  const Index for_texts = texts_.empty() ? 0 : options_.context_tokens / 32;
  const auto released = std::ranges::find_if(texts_, [&](const RunningText& text) {
    return text.window().is_released() && text.age().first < request.id;
  });
  return for_texts + (released == texts_.end() ? 0 : released->window().length());
}

// Allocates the memory of a prompt. Returns false if it does not fit.
bool PromptQueue::begin_prompt(RunningRequest& request) {
  const Request& wanted = request.request;
  request.prompt.emplace(
      decoder_, wanted.prompt,
      ContextWindow::Options{
          .use_cache = wanted.options.use_cache, .hook = wanted.hook, .room = &room_});
  const bool begins = !request.prompt->has_cache() || wanted.options.max_new_tokens == 0 ||
                      share_prompt(request, spare_room(request));
  request.lacks_room = !begins;
  if (!begins) {
    request.prompt.reset();
    return false;
  }
  counts_.prompt_tokens += std::ssize(wanted.prompt);
  for (const auto& other : waiting_) {
    other->passed += other->lacks_room && other->id < request.id ? 1 : 0;
  }
  return true;
}

// Reuses keys and values of the same beginning, including those read since the last chunk, and
// allocates memory for the rest. Returns false if that does not fit, with `spare` more positions.
bool PromptQueue::share_prompt(RunningRequest& request, Index spare) {
  const Index read = request.prompt->cache().length();
  KeyValueCache known = keeps_prefixes(request.request)
                            ? room_.prefixes().find(request.request.prompt, read)
                            : KeyValueCache();
  const Index reused = std::max<Index>(known.length() - read, 0);
  if (reused > 0) {
    request.prompt->adopt(std::move(known));
  }
  if (!request.prompt->reserve(room_, spare)) {
    return false;
  }
  request.reused_tokens += reused;
  counts_.reused_prompt_tokens += reused;
  return true;
}

bool PromptQueue::shares(const RunningRequest& request) const {
  return keeps_prefixes(request.request) && request.prompt->has_cache();
}

// Prepares the reading of the next tokens of a prompt. Returns false if it must wait for room.
bool PromptQueue::continue_prompt(RunningRequest& request) {
  if (request.prompt ? shares(request) && !share_prompt(request, 0) : !begin_prompt(request)) {
    return false;
  }
  request.is_read = request.request.options.max_new_tokens == 0;
  return true;
}

// Ends the reading of some tokens of a prompt. `logits` of the next token: after the last.
void PromptQueue::end_part(RunningRequest& request, std::optional<std::span<const float>> logits) {
  if (shares(request)) {
    room_.prefixes().keep(request.request.prompt, request.prompt->cache());
  }
  if (logits) {
    request.prompt_logits.assign(logits->begin(), logits->end());
    request.is_read = true;
  }
}

// Reads the next chunk of a prompt in a pass of its own.
void PromptQueue::read_chunk(RunningRequest& request) {
  const Stopwatch watch;
  const Index chunk = options_.prompt_chunk;
  if (options_.on_pass) {
    const PassText text{.request = request.id, .sample = request.request.options.sample};
    options_.on_pass({&text, 1});
  }
  const auto logits = request.prompt->read_chunk(chunk > 0 ? chunk : decoder_.model().block_size());
  request.prompt_seconds += watch.seconds();
  end_part(request, logits);
}

// The slots for texts that are left, of all and of each group of requests.
class PromptQueue::Slots {
 public:
  explicit Slots(const EngineOptions& options)
      : options_(options), left_(options.max_batch), brief_left_(options.brief_batch) {}

  // Returns the slots that are left for a request.
  Index left(const RunningRequest& request) const {
    const std::uint64_t group = request.request.group;
    const auto taken = taken_.find(group);
    const Index of_group = is_limited(group)
                               ? options_.group_batch - (taken == taken_.end() ? 0 : taken->second)
                               : left_;
    return std::min(left_, of_group) + (request.is_brief() ? brief_left_ : 0);
  }
  void take(const RunningRequest& request) {
    if (request.is_brief() && brief_left_ > 0) {
      --brief_left_;
      return;
    }
    --left_;
    ++taken_[request.request.group];
  }

 private:
  bool is_limited(std::uint64_t group) const { return group != 0 && options_.group_batch > 0; }

  const EngineOptions& options_;
  Index left_;
  Index brief_left_;
  std::map<std::uint64_t, Index> taken_ = {};
};

// Returns the slots beside the running texts and the prompts being read. Texts that gave their
// keys and values back have none.
PromptQueue::Slots PromptQueue::slots_beside_texts() const {
  Slots slots(options_);
  for (const RunningText& text : texts_) {
    if (!text.window().is_released()) {
      slots.take(text.request());
    }
  }
  for (const auto& request : waiting_) {
    if (request->prompt && !request->is_read) {
      slots.take(*request);
    }
  }
  return slots;
}

// Visits the requests before `end` whose prompts may be read, in order of arrival, as far as slots
// suffice; requests that have not begun take theirs. Requests whose group has its slots stop no
// others. One that lacks room lets a number of later ones pass, whose prompts may fit, and then
// only brief ones.
template <class Visit>
void PromptQueue::admit(Slots& slots, RequestId end, const Visit& visit) const {
  bool is_blocked = false;
  for (const auto& request : waiting_) {
    if (request->id >= end) {
      return;
    }
    if (!request->prompt) {
      if (slots.left(*request) <= 0 || (is_blocked && !request->is_brief())) {
        continue;
      }
      if (!request->lacks_room) {
        slots.take(*request);
      }
      is_blocked = is_blocked || request->is_overdue();
    }
    if (!request->is_read) {
      visit(request);
    }
  }
}

// Reserves the same slots as next_to_read(): else a prompt that was read might never get one, and
// keep its room from the requests before it.
Index PromptQueue::free_slots(const RunningRequest& request) const {
  Slots slots = slots_beside_texts();
  admit(slots, request.id, [](const auto&) {});
  return slots.left(request);
}

// Returns the requests to read, in order. Alternates between the oldest and the one with the
// least to read: a short prompt need not wait for a long one, nor a long one for many others.
std::vector<std::shared_ptr<RunningRequest>> PromptQueue::next_to_read() {
  std::vector<std::shared_ptr<RunningRequest>> found;
  Slots slots = slots_beside_texts();
  admit(slots, std::numeric_limits<RequestId>::max(),
        [&](const auto& request) { found.push_back(request); });
  if (found.empty()) {
    return found;
  }
  is_turn_of_oldest_ = !is_turn_of_oldest_;
  std::stable_sort(
      found.begin() + (is_turn_of_oldest_ ? 1 : 0), found.end(),
      [](const auto& a, const auto& b) { return a->unread_tokens() < b->unread_tokens(); });
  return found;
}

Index PromptQueue::prompt_room() const {
  return std::max(options_.step_tokens / 4, options_.step_tokens - std::ssize(texts_) * 3 / 2);
}

// Appends the next tokens of a prompt to the next step's. A prompt that steps cannot read
// gets a pass of its own, if it is the first.
void PromptQueue::read_next(const std::shared_ptr<RunningRequest>& request, PromptStep& step) {
  if (!continue_prompt(*request) || request->is_read) {
    return;
  }
  if (options_.prompt_chunk > 0 && options_.step_tokens > 0 && request->prompt->steps_read()) {
    const Index room = prompt_room() - std::ssize(step.items);
    step.parts.push_back({request, request->prompt->add_prompt_items(room, step.items)});
  } else if (step.parts.empty()) {
    read_chunk(*request);
  }
}

PromptStep PromptQueue::read_prompts() {
  PromptStep step;
  for (const auto& request : next_to_read()) {
    guarded(*request, [&] { read_next(request, step); });
    if (step.parts.empty() || std::ssize(step.items) >= prompt_room()) {
      break;
    }
  }
  return step;
}

void PromptQueue::end_parts(const PromptStep& step, double seconds) {
  Index output = 0;
  for (const auto& [request, left] : step.parts) {
    request->prompt_seconds += seconds;
    end_part(*request, left > 0 ? std::nullopt : std::optional(decoder_.logits(output++)));
  }
}

void PromptQueue::drop_ended() {
  std::erase_if(waiting_,
                [](const auto& request) { return request->status != RequestStatus::running; });
}

void PromptQueue::drop_started() {
  std::erase_if(waiting_,
                [](const auto& request) { return request->next_sample == request->end_sample(); });
}

const RunningRequest* PromptQueue::overdue() const {
  const auto found =
      std::ranges::find_if(waiting_, [](const auto& request) { return request->is_overdue(); });
  return found == waiting_.end() ? nullptr : found->get();
}

RunningRequest* PromptQueue::newest_holder() const {
  RunningRequest* newest = nullptr;
  for (const auto& request : waiting_) {
    const bool holds = request->prompt && request->prompt->holds_room();
    if (holds && (newest == nullptr || request->id > newest->id)) {
      newest = request.get();
    }
  }
  return newest;
}

EngineStatus PromptQueue::status() const {
  EngineStatus status = counts_;
  status.waiting = std::ssize(waiting_);
  status.used_tokens = room_.used_tokens();
  status.kept_tokens = room_.prefixes().tokens();
  return status;
}

}  // namespace headlight
