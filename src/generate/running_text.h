#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "generate/context/context_window.h"
#include "generate/draft_length.h"
#include "generate/grammar/grammar_state.h"
#include "generate/stop_filter.h"
#include "headlight/generate/engine.h"
#include "headlight/tokenizers/streaming_decoder.h"

namespace headlight {

// Returns all tokens that end a text of a request.
std::vector<std::int32_t> ending_tokens(const Tokenizer& tokenizer, const GenerateOptions& options);

// Returns the tokens that no text of a request may contain. The model has more ids than the
// tokenizer if V was rounded up for speed.
std::vector<std::int32_t> excluded_tokens(const LanguageModel& model, const Tokenizer& tokenizer,
                                          const GenerateOptions& options);

// Returns whether a token is not special.
bool is_visible(const Tokenizer& tokenizer, std::span<const std::int32_t> ids);

enum class RequestStatus { running, cancelled, failed };

// State of a request, shared by its texts.
struct RunningRequest {
  RequestId id = 0;
  Request request;
  const Tokenizer* tokenizer = nullptr;
  std::vector<std::int32_t> excluded = {};
  // Tokens for the first token of a text and for others; null without a grammar. Equal if the
  // prompt has text.
  std::shared_ptr<const TokenTrie> first_tokens = {};
  std::shared_ptr<const TokenTrie> tokens = {};
  bool has_hook = false;  // its own, or attached to the model
  RequestStatus status = RequestStatus::running;
  // Set from the first chunk until the last text starts, or until give_back().
  std::optional<ContextWindow> prompt = {};
  bool is_read = false;                   // the whole prompt has been read
  std::vector<float> prompt_logits = {};  // [V], once the prompt has been read
  Index reused_tokens = 0;
  double prompt_seconds = 0;
  Index next_sample = 0;
  bool lacks_room = false;  // for the prompt, when it was last tried
  Index passed = 0;         // later requests that began meanwhile

  // Whether its texts end soon: they need not wait for slots and room that long texts wait for.
  bool is_brief() const {
    constexpr Index kBriefTokens = 16;
    return request.samples * std::min(request.options.max_new_tokens, kBriefTokens + 1) <=
           kBriefTokens;
  }
  // Whether it lacks room and has let as many later requests begin as it must.
  bool is_overdue() const {
    constexpr Index kMostPassed = 64;
    return lacks_room && passed >= kMostPassed;
  }
  // Frees the keys and values of the prompt, which will be read again.
  void give_back() {
    prompt.reset();
    is_read = false;
  }

  Index end_sample() const { return request.options.sample + request.samples; }
  Index unread_tokens() const {
    return std::ssize(request.prompt) - (prompt ? prompt->cache().length() : 0);
  }
};

// Calls `body`. An exception ends the request: on_error gets it, or without on_error the caller.
template <class Body>
void guarded(RunningRequest& request, const Body& body) {
  try {
    body();
  } catch (...) {
    request.status = RequestStatus::failed;
    if (!request.request.on_error) {
      throw;
    }
    request.request.on_error(std::current_exception());
  }
}

// A text that is being generated.
class RunningText {
 public:
  // `window` must have read the prompt.
  RunningText(std::shared_ptr<RunningRequest> request, Index sample, ContextWindow window);

  RunningRequest& request() { return *request_; }
  const RunningRequest& request() const { return *request_; }
  ContextWindow& window() { return window_; }
  const ContextWindow& window() const { return window_; }
  // Computes a part of the grammar's mask to choose the next token, about `share` positions of
  // its automaton. Returns whether the text can choose: always true without a grammar. Texts can
  // prepare in parallel. Throws Error as GrammarState::prepare().
  bool prepare(std::size_t share);
  bool has_grammar() const { return grammar_.has_value(); }
  // Returns the work of the grammar's last step so far.
  std::size_t grammar_work() const { return grammar_ ? grammar_->work() : 0; }
  // Returns whether the text has no token yet: its first comes from the prompt's logits.
  bool is_new() const { return result_.tokens.empty(); }
  bool finished() const { return finished_ || request_->status != RequestStatus::running; }
  PassText pass_text() const { return {request_->id, sample_, std::ssize(result_.tokens)}; }
  // Orders texts by age: earlier requests have smaller ids.
  std::pair<RequestId, Index> age() const { return {request_->id, sample_}; }

  // Appends the next items of a step: the last token and at most `most` guesses. The drafter reads
  // prompts in chunks; 0: whole.
  void add_step_items(Index most, Index chunk, std::vector<DecodeItem>& items);
  // Takes the token chosen from the logits of the step's item `first`, and the tokens after it for
  // which the step has logits. Returns their number. `share`: see prepare().
  Index take_step(const Decoder& decoder, Index first, std::int32_t id, std::size_t share);

  // Chooses the next token from logits [V]. Changes only this text: texts can choose in parallel.
  std::int32_t choose(std::span<const float> logits);
  // Appends a token that was chosen from logits [V].
  void take(std::span<const float> logits, std::int32_t id);
  void take(std::span<const float> logits) { take(logits, choose(logits)); }
  void end(Index block_size);

 private:
  const GenerateOptions& options() const { return request_->request.options; }
  std::vector<std::int32_t> guess(Index most, Index chunk);
  void add_text(const std::string& piece);
  void emit_choice(std::span<const float> logits, std::int32_t id);
  bool is_end(std::int32_t id) const;
  bool must_end(std::int32_t id);
  std::span<const char> without_ends(std::span<const char> allowed);
  void advance_grammar(std::int32_t id);
  const TokenTrie& next_tokens() const {
    return is_new() ? *request_->first_tokens : *request_->tokens;
  }
  bool grammar_is_complete() const { return grammar_ && grammar_->is_complete(); }

  std::shared_ptr<RunningRequest> request_;
  Index sample_;
  Sampler sampler_;
  std::vector<std::int32_t> history_;  // prompt and output
  ContextWindow window_;
  StreamingDecoder decoder_;  // continues the tokens of the prompt
  StopFilter filter_;
  std::optional<GrammarState> grammar_ = {};
  std::unique_ptr<Drafter> drafter_ = {};  // null: no guesses
  DraftLength draft_length_ = {};
  std::vector<std::int32_t> guesses_ = {};  // in the step that is being computed
  std::vector<char> before_minimum_ = {};   // [V], tokens that may come before min_new_tokens
  Stopwatch watch_;
  GenerateResult result_;
  bool finished_ = false;
};

}  // namespace headlight
