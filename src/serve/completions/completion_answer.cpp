#include "serve/completions/completion_answer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/stopwatch.h"
#include "headlight/base/utf8.h"
#include "serve/text_scores.h"

namespace headlight::serve {
namespace {

using Entries = std::vector<TokenLog::Entry>;

bool has_text(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](std::int32_t id) { return tokenizer.special_name(id).empty(); });
}

}  // namespace

CompletionAnswer::CompletionAnswer(CompletionRequest request, std::string id,
                                   const ServedModel& served,
                                   std::shared_ptr<HttpExchange> exchange)
    : request_(std::move(request)),
      id_(std::move(id)),
      served_(served),
      tokenizer_(*served.loaded.tokenizer),
      answer_(std::move(exchange)),
      created_(seconds_since_1970()) {}

std::vector<headlight::Request> CompletionAnswer::requests() {
  std::vector<headlight::Request> requests;
  for (std::size_t i = 0; i < request_.prompts.size(); ++i) {
    requests.push_back(request_for(i));
  }
  return requests;
}

void CompletionAnswer::prepare(const std::function<void()>& pause) {
  hook_ = request_.changes.hook_for(served_.loaded);
  if (!request_.scores_prompts()) {
    return;
  }
  const TextScoreOptions options{
      .likeliest = *request_.options.logprobs, .hook = hook_.get(), .pause = pause};
  for (const auto& prompt : request_.prompts) {
    prompt_choices_.push_back(score_text(*served_.loaded.model, prompt, options).tokens);
  }
}

headlight::Request CompletionAnswer::request_for(std::size_t prompt) {
  const auto self = shared_from_this();
  headlight::Request request;
  request.prompt = request_.prompts[prompt];
  request.options = request_.options;
  request.options.max_new_tokens = tokens_behind(
      request.prompt.size(), request.options.max_new_tokens, served_.loaded.model->block_size());
  request.samples = request_.samples;
  request.hook = hook_.get();
  if (request.options.logprobs) {
    request.on_token = [self, prompt](Index sample, const TokenChoice& choice) {
      self->choice_of(prompt, sample).log.push(choice);
    };
  }
  request.on_text = [self, prompt](Index sample, std::string_view piece) {
    self->on_text(prompt, sample, piece);
  };
  request.on_end = [self, prompt](Index sample, const GenerateResult& result) {
    self->on_end(prompt, sample, result);
  };
  request.on_error = [self](const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (...) {
      self->fail();
    }
  };
  return request;
}

// On first use a stream sends its opening: the role in a chat, the prompt with echo.
CompletionAnswer::Choice& CompletionAnswer::choice_of(std::size_t prompt, Index sample) {
  const Index number = number_of(prompt, sample);
  const auto place = choices_.find(number);
  if (place != choices_.end()) {
    return place->second;
  }
  const Index before = request_.echo ? character_count(request_.prompt_texts[prompt]) : 0;
  const bool goes_on = has_text(tokenizer_, request_.prompts[prompt]);
  TokenLog log(tokenizer_, goes_on, before, request_.options.shown_tokens);
  Choice& choice = choices_.emplace(number, Choice{std::move(log)}).first->second;
  if (request_.tools.style != nullptr) {
    choice.tools.emplace(request_.tools.parser(request_.stream));
  }
  if (request_.stream && request_.is_chat) {
    tell(choice_json(number, {{"role", "assistant"}, {"content", ""}}, {}));
  } else if (request_.stream && request_.echo) {
    tell(choice_json(number, request_.prompt_texts[prompt], prompt_entries(prompt)));
  }
  return choice;
}

void CompletionAnswer::on_text(std::size_t prompt, Index sample, std::string_view piece) {
  Choice& choice = choice_of(prompt, sample);
  choice.bytes += piece.size();
  if (choice.tools) {
    take_parts(number_of(prompt, sample), choice, choice.tools->push(piece));
  } else if (request_.stream) {
    Json content = request_.is_chat ? Json{{"content", piece}} : Json(piece);
    tell(choice_json(number_of(prompt, sample), std::move(content), choice.log.take(choice.bytes)));
  }
}

// A streamed call begins with its id and name; its arguments follow.
void CompletionAnswer::take_parts(Index number, Choice& choice, std::vector<AnswerPart> parts) {
  const auto send = [&](Json delta) {
    if (request_.stream) {
      tell(choice_json(number, std::move(delta), choice.log.take(choice.bytes)));
    }
  };
  for (AnswerPart& part : parts) {
    if (!part.call) {
      choice.text += part.text;
      send({{"content", part.text}});
      continue;
    }
    const bool begins = !part.call->name.empty();
    if (begins) {
      choice.calls.push_back({.name = part.call->name, .arguments = ""});
    }
    const std::size_t index = choice.calls.size() - 1;
    if (begins) {
      Json begin{{"index", index}};
      begin.update(call_json(number, index, choice.calls[index]));
      send({{"tool_calls", Json::array({std::move(begin)})}});
    }
    choice.calls[index].arguments += part.call->arguments;
    const Json more{{"arguments", part.call->arguments}};
    send({{"tool_calls", Json::array({{{"index", index}, {"function", more}}})}});
  }
}

Json CompletionAnswer::call_json(Index number, std::size_t index, const ToolCall& call) const {
  return {{"id", call_id(number, index)},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

// Returns nine letters and digits: the templates of Mistral take no other ids. Calls of one
// conversation differ.
std::string CompletionAnswer::call_id(Index number, std::size_t call) const {
  const std::string source = concat_text(id_, '-', number, '-', call);
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char byte : source) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  constexpr std::string_view kCharacters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string id;
  for (int i = 0; i < 9; ++i, hash /= kCharacters.size()) {
    id += kCharacters[hash % kCharacters.size()];
  }
  return id;
}

Json CompletionAnswer::message_json(Index number, const Choice& choice,
                                    const GenerateResult& result) const {
  const std::string& text = choice.tools ? choice.text : result.text;
  const bool has_calls = !choice.calls.empty();
  Json message{{"role", "assistant"},
               {"content", has_calls && text.empty() ? Json() : Json(text)},
               {"refusal", nullptr}};
  for (std::size_t i = 0; i < choice.calls.size(); ++i) {
    message["tool_calls"].push_back(call_json(number, i, choice.calls[i]));
  }
  return message;
}

void CompletionAnswer::on_end(std::size_t prompt, Index sample, const GenerateResult& result) {
  Choice& choice = choice_of(prompt, sample);
  new_tokens_ += std::ssize(result.tokens);
  reused_tokens_ += sample == 0 ? result.prompt_tokens_reused : 0;
  const Index number = number_of(prompt, sample);
  if (choice.tools) {
    take_parts(number, choice, choice.tools->finish());
  }
  Entries entries = request_.stream ? Entries() : prompt_entries(prompt);
  for (TokenLog::Entry& entry : choice.log.take(last_byte(choice, result.finish_reason))) {
    entries.push_back(std::move(entry));
  }
  const char* ended = choice.calls.empty() ? "stop" : "tool_calls";
  const char* reason = result.finish_reason == FinishReason::length ? "length" : ended;
  if (request_.stream) {
    tell(choice_json(number, request_.is_chat ? Json::object() : Json(""), entries, reason));
  } else if (request_.is_chat) {
    whole_[number] =
        choice_json(number, message_json(number, choice, result), entries, reason).dump();
  } else {
    const std::string opening = request_.echo ? request_.prompt_texts[prompt] : "";
    whole_[number] = choice_json(number, opening + result.text, entries, reason).dump();
  }
  if (++ended_ == request_.choices()) {
    finish();
  }
}

// Returns the byte up to which tokens are reported, which excludes stop texts. Completions
// include the end token, which has no bytes: programs that score answers rely on it.
std::size_t CompletionAnswer::last_byte(const Choice& choice, FinishReason reason) const {
  const bool is_cut = reason == FinishReason::stop;
  return request_.is_chat || is_cut ? choice.bytes : std::numeric_limits<std::size_t>::max();
}

Entries CompletionAnswer::prompt_entries(std::size_t prompt) const {
  if (prompt_choices_.empty()) {
    return {};
  }
  TokenLog log(tokenizer_, false, 0);
  bool is_first = true;
  for (const TokenChoice& choice : prompt_choices_[prompt]) {
    log.push(choice, std::exchange(is_first, false));
  }
  return log.take(std::numeric_limits<std::size_t>::max());
}

Json CompletionAnswer::logprobs_json(const Entries& entries) const {
  if (!request_.options.logprobs) {
    return {};
  }
  return request_.is_chat ? chat_logprobs(entries, tokenizer_)
                          : completion_logprobs(entries, tokenizer_, request_.token_ids);
}

Json CompletionAnswer::choice_json(Index number, Json content, const Entries& entries,
                                   const char* finish_reason) const {
  const char* chat_name = request_.stream ? "delta" : "message";
  const bool has_none = request_.stream && entries.empty();
  Json choice{{"index", number}};
  choice[request_.is_chat ? chat_name : "text"] = std::move(content);
  choice["logprobs"] = has_none ? Json() : logprobs_json(entries);
  choice["finish_reason"] = finish_reason == nullptr ? Json() : Json(finish_reason);
  return choice;
}

void CompletionAnswer::tell(Json choice) {
  Json event = frame();
  event["choices"] = Json::array({std::move(choice)});
  if (request_.include_usage) {
    event["usage"] = nullptr;
  }
  answer_.tell(event.dump());
}

void CompletionAnswer::finish() {
  if (std::exchange(is_over_, true)) {
    return;
  }
  if (!request_.stream) {
    answer_.send(whole_json());
    return;
  }
  if (request_.include_usage) {
    answer_.tell(whole_json());
  }
  answer_.end();
}

// Returns the answer, without choices in a stream. Joins the texts of the choices, which take far
// less memory than their values.
std::string CompletionAnswer::whole_json() {
  std::string json = frame().dump();
  json.back() = ',';  // instead of the bracket
  json += "\"choices\":[";
  for (const auto& [number, choice] : whole_) {
    json += (json.back() == '[' ? "" : ",") + choice;
  }
  return json + "],\"usage\":" + usage().dump() + '}';
}

void CompletionAnswer::fail() {
  if (!std::exchange(is_over_, true)) {
    answer_.fail();
  }
}

Json CompletionAnswer::frame() {
  const char* whole = request_.is_chat ? "chat.completion" : "text_completion";
  const bool is_chunk = request_.is_chat && request_.stream;
  Json json{{"id", id_},
            {"object", is_chunk ? "chat.completion.chunk" : whole},
            {"created", created_},
            {"model", served_.name}};
  if (const auto warnings = std::exchange(request_.warnings, {}); !warnings.empty()) {
    json["warnings"] = warnings;
  }
  return json;
}

Json CompletionAnswer::usage() const {
  const Index prompt_tokens = request_.prompt_tokens();
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", new_tokens_},
          {"total_tokens", prompt_tokens + new_tokens_},
          {"prompt_tokens_details", {{"cached_tokens", reused_tokens_}}}};
}

}  // namespace headlight::serve
