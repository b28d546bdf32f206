#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "headlight/generate/generator.h"
#include "headlight/nn/forward_hook.h"

namespace headlight {

using RequestId = std::uint64_t;

// Texts that are wanted of one prompt. What is called while a request runs gets the number of the
// text, options.sample and up, and must not call the engine but for cancel().
struct Request {
  std::vector<std::int32_t> prompt = {};  // none: the text begins with <|endoftext|>
  GenerateOptions options = {};
  Index samples = 1;  // texts; the prompt is read once for all of them
  // Of these texts alone; it must outlive them. They then take passes of their own over the
  // weights.
  ForwardHook* hook = nullptr;
  // Pieces of text as soon as they are certain; see generate().
  std::function<void(Index sample, std::string_view piece)> on_text = {};
  // Every token that was chosen; with what the model thought of it if options.logprobs asks.
  std::function<void(Index sample, const TokenChoice& choice)> on_token = {};
  // When a text has ended.
  std::function<void(Index sample, GenerateResult result)> on_end = {};
  // When the request cannot go on; its other texts end without a word. Without it Engine::step()
  // throws.
  std::function<void(std::exception_ptr error)> on_error = {};
};

struct EngineOptions {
  // Texts that one pass over the weights serves: enough to hide the reading of the weights, and few
  // enough for their caches. Others wait.
  Index together = 32;
  // Prompts are read in parts that end at multiples of so many positions, one part a step, so that
  // other texts do not wait long; 0: each at once. A multiple or a divisor of 64. The oldest prompt
  // and the one with the least left take turns. It changes what is computed together, and so the
  // last bits.
  Index prompt_chunk = 0;
  // Positions that there may be keys and values for, of all texts together; a request waits until
  // there is room for all that it may need. What texts leave free keeps the beginnings of prompts
  // that were read, in chunks. 0: no limit, and nothing is kept.
  Index context_tokens = 0;
};

// What an engine is at.
struct EngineStatus {
  Index texts = 0;            // that run
  Index waiting = 0;          // requests with texts that have not begun
  Index reserved_tokens = 0;  // of context_tokens, for texts
  Index kept_tokens = 0;      // of context_tokens, beginnings of prompts
  // Since the beginning.
  Index prompt_tokens = 0;         // of prompts that were read
  Index reused_prompt_tokens = 0;  // of those, what had been read before
  Index tokens = 0;                // chosen
};

// Continues any number of texts side by side: requests come and go between steps, each with options
// of its own. The tokens of a text depend on nothing but its request.
class Engine {
 public:
  // Both must outlive the engine. Throws Error when the tokenizer has more ids than the model.
  Engine(Decoder& decoder, const Tokenizer& tokenizer, const EngineOptions& options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Steps begin texts. Places and room go to earlier requests first. Throws Error for options that
  // are out of range, and about "max_tokens" for a request that context_tokens has no room for.
  RequestId begin(Request request);
  // The texts of a request that run end in the next step, with FinishReason::cancelled; others are
  // not begun.
  void cancel(RequestId id);
  // Chooses one more token for every text that runs, after reading at most one prompt or part of
  // one. Returns false when no request is left.
  bool step();
  EngineStatus status() const;
  // Positions, in whole blocks of 64, that a request takes of context_tokens: those of its prompt
  // and of the tokens that each of its texts may get, at most the model's block.
  static Index context_of(const Request& request, Index block_size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlight
