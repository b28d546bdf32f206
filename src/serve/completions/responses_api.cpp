#include <utility>

#include "headlight/base/error.h"
#include "serve/completions/answer_form.h"
#include "serve/completions/api_body.h"

// OpenAI's responses: https://developers.openai.com/api/reference/resources/responses
namespace headlight::serve {
namespace {

// Adds an item of "input" to the messages.
void add_response_item(const Json& item, ChatMessages& messages) {
  const Json type = item.value("type", Json("message"));
  if (type == Json("function_call")) {
    messages.add_call(item.value("call_id", Json()), item.value("name", Json()),
                      item.value("arguments", Json()));
  } else if (type == Json("function_call_output")) {
    messages.add_result(item.value("call_id", Json()),
                        text_of_parts(item.value("output", Json()), {"input_text"}, "input"));
  } else if (type != Json("reasoning")) {  // thoughts of earlier answers are not read again
    const Json role = item.value("role", Json());
    require_value(type == Json("message") && role.is_string(), "input",
                  "expected messages, function_call and function_call_output, got ",
                  item.dump().substr(0, 100));
    messages.add(role.text(), text_of_parts(item.value("content", Json()),
                                            {"input_text", "output_text", "text"}, "input"));
  }
}

Json response_messages(Fields& fields) {
  ChatMessages messages;
  if (const std::string instructions = fields.text("instructions", ""); !instructions.empty()) {
    messages.add("system", instructions);
  }
  const Json& input = fields.get("input");
  if (input.is_string()) {
    messages.add("user", input.text());
    return messages.take();
  }
  require_value(input.is_array(), "input", "expected a text or a list of items, got ",
                input.type_name());
  for (const Json& item : input) {
    add_response_item(item, messages);
  }
  return messages.take();
}

Json response_tool(const Json& tool) {
  require_value(tool.value("type", Json()) == Json("function"), "tools",
                "expected tools of the type function, got ", tool.dump().substr(0, 100));
  return chat_tool(tool.value("name", Json()), tool.value("description", Json()),
                   tool.value("parameters", Json()));
}

// Adds what the text of the answer must be.
void add_format(const Json& text, Json& chat) {
  const Json format = text.value("format", Json());
  if (format.value("type", Json()) == Json("json_schema")) {
    chat.add("response_format", {{"type", "json_schema"},
                                 {"json_schema", {{"schema", format.value("schema", Json())}}}});
  } else if (!format.is_null()) {
    chat.add("response_format", format);
  }
}

// Adds the log-probabilities that "include" or "top_logprobs" asks for.
void add_logprobs(Fields& fields, Json& chat) {
  const Index top = fields.integer("top_logprobs", 0, 0, 20);
  bool is_wanted = top > 0;
  for (const std::string& name : fields.texts("include", 100)) {
    is_wanted = is_wanted || name == "message.output_text.logprobs";
  }
  if (is_wanted) {
    chat.add("logprobs", true);
    chat.add("top_logprobs", top);
  }
}

class ResponseForm final : public AnswerForm {
 public:
  using AnswerForm::AnswerForm;

  void open(const AnswerChoice&, const TokenEntries&) override {
    tell("response.created", {{"response", response("in_progress", Json::array(), {})}});
    tell("response.in_progress", {{"response", response("in_progress", Json::array(), {})}});
  }
  void add_text(const AnswerChoice& choice, std::string_view piece,
                const TokenEntries& entries) override {
    if (item_type_ != "message") {
      close_item(choice);
      open_item("message", message("", {}, "in_progress"));
      tell("response.content_part.added", {{"content_index", 0}, {"part", part("", {})}}, true);
    }
    text_ += piece;
    const Json logprobs = logprobs_of(entries);
    for (const Json& entry : logprobs) {
      logprobs_.push_back(entry);
    }
    tell("response.output_text.delta",
         {{"content_index", 0}, {"delta", piece}, {"logprobs", logprobs}}, true);
  }
  void add_call(const AnswerChoice& choice, const TokenEntries&) override {
    close_item(choice);
    open_item("function_call", call(choice.calls.back(), "", "in_progress"));
  }
  void add_arguments(const AnswerChoice&, std::string_view piece, const TokenEntries&) override {
    tell("response.function_call_arguments.delta", {{"delta", piece}}, true);
  }
  void close(const AnswerChoice& choice, const TokenEntries&) override {
    if (items_.empty() && item_type_.empty()) {  // an empty answer is a message, too
      add_text(choice, "", {});
    }
    close_item(choice);
    is_cut_ = choice.reason == FinishReason::length;
  }
  void end(const AnswerUsage& usage) override {
    const std::string status = is_cut_ ? "incomplete" : "completed";
    tell("response." + status, {{"response", response(status, items_, usage_json(usage))}});
    answer().end(false);
  }

  std::string whole_choice(const AnswerChoice& choice, const TokenEntries& entries) override {
    is_cut_ = choice.reason == FinishReason::length;
    std::string items;
    if (!choice.text.empty() || choice.calls.empty()) {
      items += message(choice.text, logprobs_of(entries), status()).dump();
    }
    for (const AnswerCall& one : choice.calls) {
      items += (items.empty() ? "" : ",") + call(one, one.arguments, "completed").dump();
      ++item_;
    }
    return items;
  }
  std::string whole(const std::string& choices, const AnswerUsage& usage) override {
    return response(status(), parse_json("[" + choices + "]", "answer"), usage_json(usage)).dump();
  }
  std::string error_event(const Json& error) override {
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
    tell("response.output_item.added", {{"output_index", item_}, {"item", item}});
  }
  // Ends the item that is being written, if there is one.
  void close_item(const AnswerChoice& choice) {
    if (item_type_.empty()) {
      return;
    }
    Json item;
    if (item_type_ == "message") {
      tell("response.output_text.done",
           {{"content_index", 0}, {"text", text_}, {"logprobs", logprobs_}}, true);
      tell("response.content_part.done", {{"content_index", 0}, {"part", part(text_, logprobs_)}},
           true);
      item = message(text_, logprobs_, "completed");
    } else {
      const AnswerCall& last = choice.calls.back();
      tell("response.function_call_arguments.done",
           {{"name", last.name}, {"arguments", last.arguments}}, true);
      item = call(last, last.arguments, "completed");
    }
    tell("response.output_item.done", {{"output_index", item_}, {"item", item}});
    items_.push_back(std::move(item));
    ++item_;
    text_.clear();
    logprobs_ = Json::array();
    item_type_.clear();
  }
  // Sends an event. `of_item`: it belongs to the item that is being written.
  void tell(const std::string& type, const Json& members, bool of_item = false) {
    Json event{{"type", type}, {"sequence_number", number_++}};
    if (of_item) {
      event.add("item_id", item_id());
      event.add("output_index", item_);
    }
    event.update(members);
    answer().tell(event.dump(), type);
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

Json chat_of_response(Fields& fields) {
  const Json& body = fields.body();
  refuse_feature(body, "store", false, "is not supported: the server keeps no responses");
  refuse_feature(body, "background", false);
  refuse_feature(body, "truncation", "disabled");
  for (const char* name : {"messages", "max_tokens", "max_completion_tokens", "n"}) {
    refuse_feature(body, name, {}, "belongs to /v1/chat/completions");
  }
  for (const char* name : {"previous_response_id", "conversation", "prompt"}) {
    refuse_feature(body, name, {}, "is not supported: send the earlier items as input");
  }
  Json chat = shared_members(
      body,
      {"input", "instructions", "text", "tools", "tool_choice", "max_output_tokens", "store",
       "include", "top_logprobs", "reasoning", "background", "truncation", "conversation", "prompt",
       "previous_response_id", "stream_options", "max_tool_calls", "prompt_cache_retention"});
  chat.add("messages", response_messages(fields));
  add_format(body.value("text", Json()), chat);
  add_logprobs(fields, chat);
  if (const Json* tools = fields.find("tools", &Json::is_array, "a list")) {
    chat.add("tools", json_list(*tools, response_tool));
  }
  if (const Json* choice = fields.find("tool_choice")) {
    chat.add("tool_choice", choice->is_object() && choice->contains("name")
                                ? Json{{"type", choice->value("type", Json())},
                                       {"function", {{"name", choice->value("name", Json())}}}}
                                : *choice);
  }
  if (const Json* most = fields.find("max_output_tokens")) {
    chat.add("max_completion_tokens", *most);
  }
  const Json effort = body.value("reasoning", Json()).value("effort", Json());
  if (!effort.is_null()) {
    chat.add("reasoning_effort", effort);
  }
  return chat;
}

}  // namespace headlight::serve
