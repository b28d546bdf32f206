#pragma once

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "generate/context/context_room.h"
#include "generate/running_text.h"

namespace headlight {

// The prompts of which a step reads tokens.
struct PromptStep {
  struct Part {
    std::shared_ptr<RunningRequest> request;
    Index left = 0;  // tokens to read after the step
  };
  std::vector<Part> parts = {};
  std::vector<DecodeItem> items = {};

  // Returns the number of items that want logits: the last of every prompt that ends.
  Index outputs() const {
    return std::count_if(parts.begin(), parts.end(),
                         [](const Part& part) { return part.left == 0; });
  }
};

// Requests with texts that have not started. Reads their prompts in chunks, as far as slots and
// memory suffice beside the running texts, and keeps the beginnings of prompts for reuse.
class PromptQueue {
 public:
  using Requests = std::deque<std::shared_ptr<RunningRequest>>;

  // `texts` are the running texts. The decoder, the list and the room must outlive the queue.
  PromptQueue(Decoder& decoder, const EngineOptions& options, const std::list<RunningText>& texts,
              ContextRoom& room);

  void add(std::shared_ptr<RunningRequest> request) { waiting_.push_back(std::move(request)); }
  // Returns the requests in order of arrival.
  const Requests& waiting() const { return waiting_; }
  // Removes requests that were cancelled or have failed.
  void drop_ended();
  // Removes requests whose texts have all started.
  void drop_started();

  // Chooses the prompt tokens of the next step. Reads a chunk of the first prompt at once if steps
  // cannot read it. Errors end requests: see guarded().
  PromptStep read_prompts();
  // Takes the results of a step of the decoder, which took `seconds`. Its first logits must be
  // the prompts' logits.
  void end_parts(const PromptStep& step, double seconds);
  // Returns the free slots for texts of a request, of all and of its group. Each prompt being
  // read, and each earlier request that may begin, reserves one slot.
  Index free_slots(const RunningRequest& request) const;
  // Returns the oldest request that is overdue; null if there is none.
  const RunningRequest* overdue() const;
  // Returns the newest request whose prompt holds room; null if there is none.
  RunningRequest* newest_holder() const;
  // Returns the tokens of prompts that a step reads: few beside many texts, which wait for them.
  // With 32 step_tokens, a step beside 16 texts takes about 1.5 times as long as one without.
  Index prompt_room() const;
  // Returns the status of the engine without `texts` and `tokens`.
  EngineStatus status() const;

 private:
  class Slots;

  bool keeps_prefixes(const Request& request) const;
  bool shares(const RunningRequest& request) const;
  Slots slots_beside_texts() const;
  Index spare_room(const RunningRequest& request) const;
  bool begin_prompt(RunningRequest& request);
  bool share_prompt(RunningRequest& request, Index spare);
  bool continue_prompt(RunningRequest& request);
  void end_part(RunningRequest& request, std::optional<std::span<const float>> logits);
  void read_chunk(RunningRequest& request);
  template <class Visit>
  void admit(Slots& slots, RequestId end, const Visit& visit) const;
  std::vector<std::shared_ptr<RunningRequest>> next_to_read();
  void read_next(const std::shared_ptr<RunningRequest>& request, PromptStep& step);

  Decoder& decoder_;
  EngineOptions options_;
  const std::list<RunningText>& texts_;
  Requests waiting_ = {};
  ContextRoom& room_;
  EngineStatus counts_ = {};        // only those of prompts
  bool is_turn_of_oldest_ = false;  // the last turn read the oldest request
};

}  // namespace headlight
