#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "headlight/generate/generator.h"
#include "headlight/nn/forward_hook.h"

namespace headlight {

using RequestId = std::uint64_t;

// A prompt and the options of its texts. The callbacks get the sample number, from options.sample
// on, and must call no method of the engine except cancel().
struct Request {
  std::vector<std::int32_t> prompt = {};  // empty: the text begins with <|endoftext|>
  GenerateOptions options = {};
  Index samples = 1;        // number of texts; they share one reading of the prompt
  std::uint64_t group = 0;  // requests of one client; see EngineOptions::group_batch
  // Hook for the texts of this request; must outlive them. Texts with a hook are computed in
  // separate passes over the weights.
  ForwardHook* hook = nullptr;
  // Called with pieces of text as soon as they are final; see generate().
  std::function<void(Index sample, std::string_view piece)> on_text = {};
  // Called for every chosen token, with its log probability and rank if options.logprobs is set.
  std::function<void(Index sample, const TokenChoice& choice)> on_token = {};
  // Called at the end of each text.
  std::function<void(Index sample, GenerateResult result)> on_end = {};
  // Called when the request fails; its other texts then end without a callback. If not set,
  // Engine::step() throws.
  std::function<void(std::exception_ptr error)> on_error = {};
};

// A text whose tokens are a sequence of a pass.
struct PassText {
  RequestId request = 0;
  Index sample = 0;  // of a prompt that several samples share: the first
  Index step = 0;    // tokens generated before the pass; 0: it reads the prompt
};

struct EngineOptions {
  // Maximum number of texts in one pass over the weights: enough to hide the time for reading the
  // weights, few enough for the memory of their caches. Other texts wait.
  Index max_batch = 32;
  // Maximum number of texts of one group among them, so that others need not wait for its end; 0:
  // no limit. Group 0 has none.
  Index group_batch = 0;
  // Prompts are read in chunks that end at multiples of this position, one chunk a step, so that
  // other texts do not wait long; 0: whole prompts. Must be a multiple or a divisor of 64. The
  // oldest prompt and the one with the least left alternate. Changes the last bits of the results.
  Index prompt_chunk = 0;
  // With prompt_chunk set, steps of texts also read prompts, where steps can: this many tokens of
  // one or several prompts, minus 3 for every 2 texts, but at least a quarter. 0: all prompts take
  // passes of their own.
  Index step_tokens = 0;
  // Further texts of requests that end within 16 tokens: they do not wait for the end of long ones.
  Index brief_batch = 0;
  // Total positions with keys and values, over all texts, which take them in blocks of 64 as they
  // grow. When none are left, the newest text gives all of its own back and gets the same keys and
  // values again later; the oldest never waits. With prompt_chunk set, free positions keep the
  // beginnings of earlier prompts for reuse. 0: no limit, and nothing is kept.
  Index context_tokens = 0;
  // Called before a pass that hooks may see, with the texts of its sequences in their order.
  std::function<void(std::span<const PassText> texts)> on_pass = {};
};

// Current load of an engine and its counts.
struct EngineStatus {
  Index texts = 0;        // running
  Index released = 0;     // part of texts that gave their keys and values back
  Index waiting = 0;      // requests with texts that have not started
  Index used_tokens = 0;  // part of context_tokens in use, also by beginnings of earlier prompts
  Index kept_tokens = 0;  // in beginnings of earlier prompts; they may share memory
  // Counts since the engine was created.
  Index prompt_tokens = 0;         // in prompts whose reading has started
  Index reused_prompt_tokens = 0;  // part of prompt_tokens taken from earlier prompts
  Index tokens = 0;                // generated
  Index releases = 0;              // times that a text or prompt gave its keys and values back
};

// Generates any number of texts side by side. Requests, each with its own options, start and end
// between steps. The tokens of a text depend only on its request.
class Engine {
 public:
  // Both must outlive the engine. Throws Error when the tokenizer has more ids than the model.
  Engine(Decoder& decoder, const Tokenizer& tokenizer, const EngineOptions& options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Queues a request; step() starts its texts. Earlier requests get slots and memory first. Throws
  // Error for options out of range; about "max_tokens" if context_tokens is too small.
  RequestId begin(Request request);
  // Cancels a request. Its running texts end in the next step with FinishReason::cancelled; the
  // others do not start.
  void cancel(RequestId id);
  // Generates one token for every running text and reads at most one chunk of prompts.
  // Returns false when no request is left.
  bool step();
  EngineStatus status() const;
  // Returns the positions that one text of a request needs of context_tokens, in whole blocks of
  // 64: for the prompt and max_new_tokens, at most block_size together.
  static Index context_of(const Request& request, Index block_size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlight
