#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/serve/server.h"
#include "serve/completions/answer_form.h"

namespace headlight::serve {

// Answer to a completion: one body, or server-sent events, in the form of an API. The callbacks of
// requests() run on the computing thread.
class CompletionAnswer : public std::enable_shared_from_this<CompletionAnswer> {
 public:
  // `body`: the members of the request that some forms repeat. `served` must outlive this.
  CompletionAnswer(const CompletionApi& api, CompletionRequest request, Json body, std::string id,
                   const ServedModel& served, std::shared_ptr<HttpExchange> exchange);

  // Returns one request per prompt. Their callbacks own this answer.
  std::vector<headlight::Request> requests();
  // Must run before requests() if there are model changes, which it prepares, or scores_prompts():
  // it scores the tokens of every prompt; see score_text().
  void prepare(const std::function<void()>& pause);
  // Sends the exception being handled.
  void fail();

 private:
  struct Choice {
    AnswerChoice shown;
    TokenLog log;
    std::size_t bytes = 0;  // length of the text received
    std::optional<ToolCallParser> tools = {};
  };

  headlight::Request request_for(std::size_t prompt);
  Choice& choice_of(std::size_t prompt, Index sample);
  void on_text(std::size_t prompt, Index sample, std::string_view piece);
  void on_end(std::size_t prompt, Index sample, const GenerateResult& result);
  // Adds the parts of an answer with tools, or streams them.
  void take_parts(Choice& choice, std::vector<AnswerPart> parts);
  std::string call_id(Index number, std::size_t call) const;
  std::size_t last_byte(const Choice& choice, FinishReason reason) const;
  TokenEntries prompt_entries(std::size_t prompt) const;
  void finish();

  CompletionRequest request_;
  std::string id_;
  const ServedModel& served_;
  const Tokenizer& tokenizer_;
  JsonAnswer answer_;
  std::unique_ptr<AnswerForm> form_;
  std::shared_ptr<ForwardHook> hook_;  // null: the unchanged model
  std::vector<std::vector<TokenChoice>> prompt_choices_;
  std::map<Index, Choice> choices_;
  Index ended_ = 0;
  AnswerUsage usage_;
  bool is_over_ = false;
};

}  // namespace headlight::serve
