#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/completions/completion_request.h"
#include "serve/completions/token_log.h"
#include "serve/json_answer.h"

namespace headlight::serve {

using TokenEntries = std::vector<TokenLog::Entry>;

// A call of a function in an answer.
struct AnswerCall {
  std::string id;
  std::string name;
  std::string arguments = {};  // JSON
};

// One text of an answer, as far as it has been generated.
struct AnswerChoice {
  Index number = 0;        // in the answer
  std::size_t prompt = 0;  // number of its prompt
  std::string text = {};   // without the calls
  std::vector<AnswerCall> calls = {};
  // At the end.
  FinishReason reason = FinishReason::length;
  std::string stop_text = {};
};

struct AnswerUsage {
  Index prompt_tokens = 0;
  Index reused_tokens = 0;  // part of prompt_tokens
  Index new_tokens = 0;
};

// Inputs of the forms of all APIs.
struct AnswerSource {
  const CompletionRequest& request;
  Json body = {};  // members of the request that the answer repeats
  std::string id;
  std::string model;
  Index created = 0;  // seconds since 1970
  const Tokenizer& tokenizer;
};

// Form that an API gives to an answer. Streams: open(), then text and calls, then close(), for
// every choice; end() after all. Otherwise keep() for every choice, then whole().
// `entries`: the tokens that belong to the text, if the request wants log-probabilities.
class AnswerForm {
 public:
  AnswerForm(AnswerSource source, JsonAnswer& answer)
      : source_(std::move(source)), answer_(answer) {}
  virtual ~AnswerForm() = default;
  AnswerForm(const AnswerForm&) = delete;
  AnswerForm& operator=(const AnswerForm&) = delete;

  // `entries`: the prompt's, with echo.
  virtual void open(const AnswerChoice& choice, const TokenEntries& entries) = 0;
  virtual void add_text(const AnswerChoice& choice, std::string_view piece,
                        const TokenEntries& entries) = 0;
  // The last of the calls has begun.
  virtual void add_call(const AnswerChoice& choice, const TokenEntries& entries) = 0;
  virtual void add_arguments(const AnswerChoice& choice, std::string_view piece,
                             const TokenEntries& entries) = 0;
  virtual void close(const AnswerChoice& choice, const TokenEntries& entries) = 0;
  virtual void end(const AnswerUsage& usage) = 0;

  virtual void keep(const AnswerChoice& choice, const TokenEntries& entries) = 0;
  // Returns the answer of all choices as JSON.
  virtual std::string whole(const AnswerUsage& usage) = 0;

  // Returns an error as the last part of a stream. `error`: as in error_response().
  virtual std::string error_event(int status, const Json& error) = 0;

 protected:
  const AnswerSource& source() const { return source_; }
  const CompletionRequest& request() const { return source_.request; }
  JsonAnswer& answer() { return answer_; }

 private:
  AnswerSource source_;
  JsonAnswer& answer_;
};

// An API for completions. `to_chat`: translates the body into that of a chat; null: none is needed.
struct CompletionApi {
  std::string_view path;
  std::string_view id_begin;
  CompletionRequest (*read)(const CompletionModel& model, std::uint64_t fresh_seed);
  std::unique_ptr<AnswerForm> (*make_form)(AnswerSource source, JsonAnswer& answer);
  Json (*to_chat)(Fields& fields) = nullptr;
};

// OpenAI's completions and chat completions.
std::unique_ptr<AnswerForm> make_completion_form(AnswerSource source, JsonAnswer& answer);
std::unique_ptr<AnswerForm> make_chat_form(AnswerSource source, JsonAnswer& answer);
// OpenAI's responses.
std::unique_ptr<AnswerForm> make_response_form(AnswerSource source, JsonAnswer& answer);
Json chat_of_response(Fields& fields);
// Anthropic's messages.
std::unique_ptr<AnswerForm> make_message_form(AnswerSource source, JsonAnswer& answer);
Json chat_of_message(Fields& fields);

}  // namespace headlight::serve
