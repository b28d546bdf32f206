#include <utility>

#include "serve/completions/answer_form.h"
#include "serve/completions/api_body.h"

// OpenAI's responses: https://developers.openai.com/api/reference/resources/responses
namespace headlight::serve {
namespace {

class ResponseForm final : public AnswerForm {
 public:
  using AnswerForm::AnswerForm;

  void open(const AnswerChoice&, const TokenEntries&) override {
    send_event("response.created", {{"response", response("in_progress", Json::array(), {})}});
    send_event("response.in_progress", {{"response", response("in_progress", Json::array(), {})}});
  }
  void add_text(const AnswerChoice& choice, std::string_view piece,
                const TokenEntries& entries) override {
    if (item_type_ != "message") {
      close_item(choice);
      open_item("message", message("", {}, "in_progress"));
      send_event("response.content_part.added", {{"content_index", 0}, {"part", part("", {})}},
                 true);
    }
    text_ += piece;
    send_event("response.output_text.delta",
               {{"content_index", 0}, {"delta", piece}, {"logprobs", kept_logprobs(entries)}},
               true);
  }
  void add_call(const AnswerChoice& choice, const TokenEntries&) override {
    close_item(choice);
    open_item("function_call", call(choice.calls.back(), "", "in_progress"));
  }
  void add_arguments(const AnswerChoice&, std::string_view piece, const TokenEntries&) override {
    send_event("response.function_call_arguments.delta", {{"delta", piece}}, true);
  }
  void close(const AnswerChoice& choice, const TokenEntries& entries) override {
    if (items_.empty() && item_type_.empty()) {  // an empty answer is a message, too
      add_text(choice, "", entries);
    } else {
      kept_logprobs(entries);
    }
    close_item(choice);
    is_cut_ = choice.reason == FinishReason::length;
  }
  void end(const AnswerUsage& usage) override {
    const std::string status = is_cut_ ? "incomplete" : "completed";
    send_event("response." + status, {{"response", response(status, items_, usage_json(usage))}});
    answer().end(false);
  }

  void keep(const AnswerChoice& choice, const TokenEntries& entries) override {
    is_cut_ = choice.reason == FinishReason::length;
    if (!choice.text.empty() || choice.calls.empty()) {
      items_.push_back(message(choice.text, logprobs_of(entries), status()));
      ++item_;
    }
    for (const AnswerCall& one : choice.calls) {
      items_.push_back(call(one, one.arguments, "completed"));
      ++item_;
    }
  }
  std::string whole(const AnswerUsage& usage) override {
    return response(status(), std::move(items_), usage_json(usage)).dump();
  }
  std::string error_event(int /*status*/, const Json& error) override {
    Json event{{"type", "error"}, {"sequence_number", number_++}};
    event.update(shared_members(error, {"type"}));
    return event_text(event.dump(), "error");
  }

 private:
  std::string status() const { return is_cut_ ? "incomplete" : "completed"; }
  std::string item_id() const { return concat_text("item_", source().id, "_", item_); }

  Json logprobs_of(const TokenEntries& entries) const {
    return request().options.logprobs ? chat_logprobs(entries, source().tokenizer)["content"]
                                      : Json::array();
  }
  // Returns the log-probabilities, which are also kept for the end of the item.
  Json kept_logprobs(const TokenEntries& entries) {
    Json logprobs = logprobs_of(entries);
    for (const Json& entry : logprobs) {
      logprobs_.push_back(entry);
    }
    return logprobs;
  }
  Json part(std::string_view text, const Json& logprobs) const {
    return {{"type", "output_text"},
            {"text", text},
            {"annotations", Json::array()},
            {"logprobs", logprobs.is_null() ? Json::array() : logprobs}};
  }
  Json message(std::string_view text, const Json& logprobs, std::string_view status) const {
    const bool has_begun = status != "in_progress";
    return {{"id", item_id()},
            {"type", "message"},
            {"role", "assistant"},
            {"status", status},
            {"content", has_begun ? Json::array({part(text, logprobs)}) : Json::array()}};
  }
  Json call(const AnswerCall& call, std::string_view arguments, std::string_view status) const {
    return {{"id", item_id()},    {"type", "function_call"}, {"status", status},
            {"call_id", call.id}, {"name", call.name},       {"arguments", arguments}};
  }
  static Json usage_json(const AnswerUsage& usage) {
    return {{"input_tokens", usage.prompt_tokens},
            {"input_tokens_details",
             {{"cached_tokens", usage.reused_tokens}, {"cache_write_tokens", 0}}},
            {"output_tokens", usage.new_tokens},
            {"output_tokens_details", {{"reasoning_tokens", 0}}},
            {"total_tokens", usage.prompt_tokens + usage.new_tokens}};
  }

  // Returns the response, with the members of the request that it repeats.
  Json response(std::string_view status, Json items, Json usage) const {
    const Json& body = source().body;
    Json json{{"id", source().id},
              {"object", "response"},
              {"created_at", source().created},
              {"status", status},
              {"error", nullptr},
              {"incomplete_details",
               status == "incomplete" ? Json{{"reason", "max_output_tokens"}} : Json()},
              {"model", source().model},
              {"output", std::move(items)},
              {"usage", std::move(usage)},
              {"store", false}};
    for (const char* name : {"instructions", "max_output_tokens", "previous_response_id", "user"}) {
      json.add(name, body.value(name, Json()));
    }
    json.add("metadata", body.value("metadata", Json::object()));
    json.add("parallel_tool_calls", body.value("parallel_tool_calls", Json(true)));
    json.add("reasoning", body.value("reasoning", Json{{"effort", nullptr}, {"summary", nullptr}}));
    json.add("temperature", body.value("temperature", Json(1)));
    json.add("text", body.value("text", Json{{"format", {{"type", "text"}}}}));
    json.add("tool_choice", body.value("tool_choice", Json("auto")));
    json.add("tools", body.value("tools", Json::array()));
    json.add("top_p", body.value("top_p", Json(1)));
    json.add("truncation", "disabled");
    if (!request().warnings.empty()) {
      json.add("warnings", request().warnings);
    }
    return json;
  }

  void open_item(std::string type, const Json& item) {
    item_type_ = std::move(type);
    send_event("response.output_item.added", {{"output_index", item_}, {"item", item}});
  }
  // Ends the item that is being written, if there is one.
  void close_item(const AnswerChoice& choice) {
    if (item_type_.empty()) {
      return;
    }
    Json item;
    if (item_type_ == "message") {
      send_event("response.output_text.done",
                 {{"content_index", 0}, {"text", text_}, {"logprobs", logprobs_}}, true);
      send_event("response.content_part.done",
                 {{"content_index", 0}, {"part", part(text_, logprobs_)}}, true);
      item = message(text_, logprobs_, "completed");
    } else {
      const AnswerCall& last = choice.calls.back();
      send_event("response.function_call_arguments.done",
                 {{"name", last.name}, {"arguments", last.arguments}}, true);
      item = call(last, last.arguments, "completed");
    }
    send_event("response.output_item.done", {{"output_index", item_}, {"item", item}});
    items_.push_back(std::move(item));
    ++item_;
    text_.clear();
    logprobs_ = Json::array();
    item_type_.clear();
  }
  // Sends an event. `of_item`: it belongs to the item that is being written.
  void send_event(const std::string& type, const Json& members, bool of_item = false) {
    Json event{{"type", type}, {"sequence_number", number_++}};
    if (of_item) {
      event.add("item_id", item_id());
      event.add("output_index", item_);
    }
    event.update(members);
    answer().send_event(event.dump(), type);
  }

  Index number_ = 0;               // of the next event
  Index item_ = 0;                 // number of the item that is being written
  std::string item_type_;          // its type; "" between items
  std::string text_;               // of a message, so far
  Json logprobs_ = Json::array();  // of its tokens
  Json items_ = Json::array();     // those that have ended
  bool is_cut_ = false;
};

}  // namespace

std::unique_ptr<AnswerForm> make_response_form(AnswerSource source, JsonAnswer& answer) {
  return std::make_unique<ResponseForm>(std::move(source), answer);
}

}  // namespace headlight::serve
