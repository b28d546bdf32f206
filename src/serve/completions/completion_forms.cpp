#include <map>
#include <utility>

#include "serve/completions/answer_form.h"

namespace headlight::serve {
namespace {

// Common base of OpenAI's completions and chat completions: events with one choice each.
class OpenAiForm : public AnswerForm {
 public:
  using AnswerForm::AnswerForm;

  void end(const AnswerUsage& usage) override {
    if (request().include_usage) {
      answer().send_event(whole(usage));
    }
    answer().end();
  }
  void keep(const AnswerChoice& choice, const TokenEntries& entries) override {
    choices_[choice.number] = whole_choice(choice, entries).dump();
  }
  std::string whole(const AnswerUsage& usage) override {
    std::string json = frame().dump();
    json.back() = ',';  // instead of the bracket
    json += "\"choices\":[";
    for (const auto& [number, choice] : choices_) {
      json += (json.ends_with('[') ? "" : ",") + choice;
    }
    return json + "],\"usage\":" + usage_json(usage).dump() + '}';
  }
  std::string error_event(int /*status*/, const Json& error) override {
    return event_text(Json{{"error", error}}.dump());
  }

 protected:
  virtual std::string object() const = 0;
  virtual Json logprobs(const TokenEntries& entries) const = 0;
  virtual Json whole_choice(const AnswerChoice& choice, const TokenEntries& entries) const = 0;

  // Returns a choice of the answer or of an event. `content`: its text, message or part of one.
  Json choice_json(const AnswerChoice& choice, const char* name, Json content,
                   const TokenEntries& entries, bool has_ended) const {
    const bool has_none = request().stream && entries.empty();
    Json json{{"index", choice.number}};
    json[name] = std::move(content);
    json["logprobs"] = has_none || !request().options.logprobs ? Json() : logprobs(entries);
    const char* ended = choice.calls.empty() ? "stop" : "tool_calls";
    json["finish_reason"] =
        has_ended ? Json(choice.reason == FinishReason::length ? "length" : ended) : Json();
    return json;
  }
  void send_event(Json choice) {
    Json event = frame();
    event["choices"] = Json::array({std::move(choice)});
    if (request().include_usage) {
      event["usage"] = nullptr;
    }
    answer().send_event(event.dump());
  }

 private:
  // Returns the members that every answer and event has. The first has the warnings.
  Json frame() {
    Json json{{"id", source().id},
              {"object", object()},
              {"created", source().created},
              {"model", source().model}};
    if (!request().warnings.empty() && !std::exchange(has_warned_, true)) {
      json["warnings"] = request().warnings;
    }
    return json;
  }
  static Json usage_json(const AnswerUsage& usage) {
    return {{"prompt_tokens", usage.prompt_tokens},
            {"completion_tokens", usage.new_tokens},
            {"total_tokens", usage.prompt_tokens + usage.new_tokens},
            {"prompt_tokens_details", {{"cached_tokens", usage.reused_tokens}}}};
  }

  // Choices of an answer that is not streamed, as JSON: texts take far less memory than values.
  std::map<Index, std::string> choices_;
  bool has_warned_ = false;
};

class CompletionForm final : public OpenAiForm {
 public:
  using OpenAiForm::OpenAiForm;

  void open(const AnswerChoice& choice, const TokenEntries& entries) override {
    if (request().echo) {
      add_text(choice, request().prompt_texts[choice.prompt], entries);
    }
  }
  void add_text(const AnswerChoice& choice, std::string_view piece,
                const TokenEntries& entries) override {
    send_event(choice_json(choice, "text", piece, entries, false));
  }
  void add_call(const AnswerChoice&, const TokenEntries&) override {}
  void add_arguments(const AnswerChoice&, std::string_view, const TokenEntries&) override {}
  void close(const AnswerChoice& choice, const TokenEntries& entries) override {
    send_event(choice_json(choice, "text", "", entries, true));
  }

 private:
  Json whole_choice(const AnswerChoice& choice, const TokenEntries& entries) const override {
    const std::string opening = request().echo ? request().prompt_texts[choice.prompt] : "";
    return choice_json(choice, "text", opening + choice.text, entries, true);
  }
  std::string object() const override { return "text_completion"; }
  Json logprobs(const TokenEntries& entries) const override {
    return completion_logprobs(entries, source().tokenizer, request().token_ids);
  }
};

Json call_json(const AnswerCall& call, std::string_view arguments) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", arguments}}}};
}

class ChatForm final : public OpenAiForm {
 public:
  using OpenAiForm::OpenAiForm;

  void open(const AnswerChoice& choice, const TokenEntries&) override {
    send(choice, {{"role", "assistant"}, {"content", ""}}, {});
  }
  void add_text(const AnswerChoice& choice, std::string_view piece,
                const TokenEntries& entries) override {
    send(choice, {{"content", piece}}, entries);
  }
  // A call begins with its id and name; its arguments follow.
  void add_call(const AnswerChoice& choice, const TokenEntries& entries) override {
    Json begin{{"index", choice.calls.size() - 1}};
    begin.update(call_json(choice.calls.back(), ""));
    send(choice, {{"tool_calls", Json::array({std::move(begin)})}}, entries);
  }
  void add_arguments(const AnswerChoice& choice, std::string_view piece,
                     const TokenEntries& entries) override {
    const Json more{{"index", choice.calls.size() - 1}, {"function", {{"arguments", piece}}}};
    send(choice, {{"tool_calls", Json::array({more})}}, entries);
  }
  void close(const AnswerChoice& choice, const TokenEntries& entries) override {
    send_event(choice_json(choice, "delta", Json::object(), entries, true));
  }

 private:
  Json whole_choice(const AnswerChoice& choice, const TokenEntries& entries) const override {
    const bool is_call = !choice.calls.empty() && choice.text.empty();
    Json message{{"role", "assistant"},
                 {"content", is_call ? Json() : Json(choice.text)},
                 {"refusal", nullptr}};
    for (const AnswerCall& call : choice.calls) {
      message["tool_calls"].push_back(call_json(call, call.arguments));
    }
    return choice_json(choice, "message", std::move(message), entries, true);
  }
  std::string object() const override {
    return request().stream ? "chat.completion.chunk" : "chat.completion";
  }
  Json logprobs(const TokenEntries& entries) const override {
    return chat_logprobs(entries, source().tokenizer);
  }
  void send(const AnswerChoice& choice, Json delta, const TokenEntries& entries) {
    send_event(choice_json(choice, "delta", std::move(delta), entries, false));
  }
};

}  // namespace

std::unique_ptr<AnswerForm> make_completion_form(AnswerSource source, JsonAnswer& answer) {
  return std::make_unique<CompletionForm>(std::move(source), answer);
}

std::unique_ptr<AnswerForm> make_chat_form(AnswerSource source, JsonAnswer& answer) {
  return std::make_unique<ChatForm>(std::move(source), answer);
}

}  // namespace headlight::serve
