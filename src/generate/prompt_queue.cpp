#include "generate/prompt_queue.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace headlight {

PromptQueue::PromptQueue(Decoder& decoder, const EngineOptions& options,
                         const std::list<RunningText>& texts)
    : decoder_(decoder),
      options_(options),
      texts_(texts),
      prefixes_(std::max(options.prompt_chunk, KeyValueCache::kBlock)) {}

// Returns false with a hook, which must see the whole prompt and may change keys and values, and
// for longrope, whose keys depend on the length of the text.
bool PromptQueue::keeps_prefixes(const Request& request) const {
  return options_.context_tokens > 0 && options_.prompt_chunk > 0 && request.hook == nullptr &&
         std::ssize(request.prompt) <= decoder_.model().block_size() &&
         !decoder_.changes_keys(1, decoder_.model().block_size());
}

Index PromptQueue::reserved() const {
  std::set<const RunningRequest*> requests;
  for (const auto& request : waiting_) {
    requests.insert(request.get());
  }
  for (const RunningText& text : texts_) {
    requests.insert(&text.request());
  }
  Index sum = 0;
  for (const RunningRequest* request : requests) {
    sum += request->context;
  }
  return sum;
}

// Frees the memory that the request may need. admitted() has checked that it is available.
void PromptQueue::begin_prompt(RunningRequest& request) {
  const Request& wanted = request.request;
  if (options_.context_tokens > 0) {
    const Index needed = Engine::context_of(wanted, decoder_.model().block_size());
    prefixes_.shrink(options_.context_tokens - reserved() - needed);
    request.context = needed;
  }
  request.prompt.emplace(
      decoder_, wanted.prompt,
      ContextWindow::Options{.use_cache = wanted.options.use_cache, .hook = wanted.hook});
  counts_.prompt_tokens += std::ssize(wanted.prompt);
}

// Reuses keys and values of the same beginning, including those read since the last chunk.
void PromptQueue::share_prompt(RunningRequest& request) {
  const Index read = request.prompt->cache().length();
  KeyValueCache known = prefixes_.find(request.request.prompt, read);
  if (known.length() > read) {
    request.reused_tokens += known.length() - read;
    counts_.reused_prompt_tokens += known.length() - read;
    request.prompt->adopt(std::move(known));
  }
}

bool PromptQueue::shares(const RunningRequest& request) const {
  return keeps_prefixes(request.request) && request.prompt->has_cache();
}

// Prepares the reading of the next tokens of a prompt.
void PromptQueue::continue_prompt(RunningRequest& request) {
  if (!request.prompt) {
    begin_prompt(request);
  }
  if (shares(request)) {
    share_prompt(request);
  }
  request.is_read = request.request.options.max_new_tokens == 0;
}

// Ends the reading of some tokens of a prompt. `logits` of the next token: after the last.
void PromptQueue::end_part(RunningRequest& request, std::optional<std::span<const float>> logits) {
  if (shares(request)) {
    prefixes_.keep(request.request.prompt, request.prompt->cache());
    prefixes_.shrink(options_.context_tokens - reserved());
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
  const auto logits = request.prompt->read_chunk(chunk > 0 ? chunk : decoder_.model().block_size());
  request.prompt_seconds += watch.seconds();
  end_part(request, logits);
}

// The places for texts that are left, of all and of each group of requests.
class PromptQueue::Places {
 public:
  explicit Places(const EngineOptions& options) : options_(options), left_(options.max_batch) {}

  Index left() const { return left_; }
  Index left(std::uint64_t group) const {
    const auto taken = taken_.find(group);
    return is_limited(group) ? options_.group_batch - (taken == taken_.end() ? 0 : taken->second)
                             : options_.max_batch;
  }
  void take(std::uint64_t group) {
    --left_;
    ++taken_[group];
  }

 private:
  bool is_limited(std::uint64_t group) const { return group != 0 && options_.group_batch > 0; }

  const EngineOptions& options_;
  Index left_;
  std::map<std::uint64_t, Index> taken_ = {};
};

// Returns the places beside the running texts and the prompts being read.
PromptQueue::Places PromptQueue::places_beside_texts() const {
  Places places(options_);
  for (const RunningText& text : texts_) {
    places.take(text.request().request.group);
  }
  for (const auto& request : waiting_) {
    if (request->prompt && !request->is_read) {
      places.take(request->request.group);
    }
  }
  return places;
}

Index PromptQueue::free_places(const RunningRequest& request) const {
  Places places = places_beside_texts();
  for (const auto& other : waiting_) {
    const bool waits = !other->prompt && !other->is_read && other->id < request.id;
    if (waits && places.left(other->request.group) > 0) {
      places.take(other->request.group);
    }
  }
  return std::min(places.left(), places.left(request.request.group));
}

// Returns the requests whose prompts may be read, in order of arrival, as far as places and
// memory suffice. The first that does not fit stops the later ones that have not begun, so that
// they do not take its memory. Requests whose group has its places stop no others.
std::vector<std::shared_ptr<RunningRequest>> PromptQueue::admitted() const {
  std::vector<std::shared_ptr<RunningRequest>> found;
  Places places = places_beside_texts();
  Index room = options_.context_tokens - reserved();
  bool is_full = false;
  for (const auto& request : waiting_) {
    if (!request->prompt) {
      if (is_full || places.left(request->request.group) <= 0) {
        continue;
      }
      room -= Engine::context_of(request->request, decoder_.model().block_size());
      places.take(request->request.group);
      is_full = places.left() < 0 || (options_.context_tokens > 0 && room < 0);
      if (is_full) {
        continue;
      }
    }
    if (!request->is_read) {
      found.push_back(request);
    }
  }
  return found;
}

// Returns the requests to read, in order. Alternates between the oldest and the one with the
// least to read: a short prompt need not wait for a long one, nor a long one for many others.
std::vector<std::shared_ptr<RunningRequest>> PromptQueue::next_to_read() {
  auto found = admitted();
  if (found.empty()) {
    return found;
  }
  is_turn_of_oldest_ = !is_turn_of_oldest_;
  std::stable_sort(
      found.begin() + (is_turn_of_oldest_ ? 1 : 0), found.end(),
      [](const auto& a, const auto& b) { return a->unread_tokens() < b->unread_tokens(); });
  return found;
}

// Returns the number of prompt tokens in a step: few beside many texts, which wait for them. With
// 32 step_tokens, a step beside 16 texts takes about 1.5 times as long as one without a prompt.
Index PromptQueue::prompt_room() const {
  return std::max(options_.step_tokens / 4, options_.step_tokens - std::ssize(texts_) * 3 / 2);
}

// Appends the next tokens of a prompt to those of the next step. A prompt that steps cannot read
// gets a pass of its own, if it is the first.
void PromptQueue::read_next(const std::shared_ptr<RunningRequest>& request, PromptStep& step) {
  continue_prompt(*request);
  if (request->is_read) {
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

EngineStatus PromptQueue::status() const {
  EngineStatus status = counts_;
  status.waiting = std::ssize(waiting_);
  status.reserved_tokens = reserved();
  status.kept_tokens = prefixes_.tokens();
  return status;
}

}  // namespace headlight
