#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/serve/server.h"
#include "serve/completions/completion_request.h"
#include "serve/completions/token_log.h"
#include "serve/json_answer.h"

namespace headlight::serve {

// Answer to a completion: one body, or server-sent events. The callbacks of requests() run on the
// computing thread.
class CompletionAnswer : public std::enable_shared_from_this<CompletionAnswer> {
 public:
  // `served` must outlive this.
  CompletionAnswer(CompletionRequest request, std::string id, const ServedModel& served,
                   std::shared_ptr<HttpExchange> exchange);

  // Returns one request per prompt. Their callbacks own this answer.
  std::vector<headlight::Request> requests();
  // Must run before requests() if there are model changes, which it prepares, or scores_prompts():
  // it scores the tokens of every prompt; see score_text().
  void prepare(const std::function<void()>& pause);
  // Sends the exception being handled.
  void fail();

 private:
  struct Choice {
    TokenLog log;
    std::size_t bytes = 0;  // length of the text received
    std::optional<ToolCallParser> tools = {};
    // Parts of an answer with tools.
    std::string text = {};
    std::vector<ToolCall> calls = {};
  };

  headlight::Request request_for(std::size_t prompt);
  Choice& choice_of(std::size_t prompt, Index sample);
  void on_text(std::size_t prompt, Index sample, std::string_view piece);
  void on_end(std::size_t prompt, Index sample, const GenerateResult& result);
  // Adds the parts of an answer with tools, or streams them.
  void take_parts(Index number, Choice& choice, std::vector<AnswerPart> parts);
  Json call_json(Index number, std::size_t index, const ToolCall& call) const;
  Json message_json(Index number, const Choice& choice, const GenerateResult& result) const;
  std::string call_id(Index number, std::size_t call) const;
  std::size_t last_byte(const Choice& choice, FinishReason reason) const;
  std::vector<TokenLog::Entry> prompt_entries(std::size_t prompt) const;
  Json logprobs_json(const std::vector<TokenLog::Entry>& entries) const;
  // Returns a choice of the answer or an event. `content`: its text, message or part of one.
  Json choice_json(Index number, Json content, const std::vector<TokenLog::Entry>& entries,
                   const char* finish_reason = nullptr) const;
  void tell(Json choice);
  void finish();
  std::string whole_json();
  // Returns the members that every answer and event has; the first call adds the warnings.
  Json frame();
  Json usage() const;
  Index number_of(std::size_t prompt, Index sample) const {
    return static_cast<Index>(prompt) * request_.samples + sample;
  }

  CompletionRequest request_;
  std::string id_;
  const ServedModel& served_;
  const Tokenizer& tokenizer_;
  JsonAnswer answer_;
  Index created_;                      // seconds since 1970
  std::shared_ptr<ForwardHook> hook_;  // null: the unchanged model
  std::vector<std::vector<TokenChoice>> prompt_choices_;
  std::map<Index, Choice> choices_;
  std::map<Index, std::string> whole_;  // choices of an answer that is not streamed, as JSON
  Index ended_ = 0;
  Index reused_tokens_ = 0;
  Index new_tokens_ = 0;
  bool is_over_ = false;
};

}  // namespace headlight::serve
