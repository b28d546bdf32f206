#include <utility>

#include "headlight/base/error.h"
#include "serve/api_error.h"
#include "serve/completions/answer_form.h"
#include "serve/completions/api_body.h"

// Anthropic's messages: https://docs.anthropic.com/en/api/messages
namespace headlight::serve {
namespace {

// Adds a message's blocks of text, calls and results of calls, in order.
void add_blocks(const std::string& role, const Json& content, ChatMessages& messages) {
  std::string text;
  const auto end_text = [&] {
    if (!text.empty()) {
      messages.add(role, std::exchange(text, {}));
    }
  };
  for (const Json& block : content) {
    const Json type = block.value("type", Json());
    if (type == Json("tool_use")) {
      end_text();
      messages.add_call(block.value("id", Json()), block.value("name", Json()),
                        block.value("input", Json::object()));
    } else if (type == Json("tool_result")) {
      end_text();
      messages.add_result(block.value("tool_use_id", Json()),
                          text_of_parts(block.value("content", Json("")), {"text"}, "messages"));
    } else {
      text += text_of_part(block, {"text"}, "messages");
    }
  }
  end_text();
}

Json message_list(Fields& fields) {
  ChatMessages messages;
  if (const Json* system = fields.find("system")) {
    messages.add("system", text_of_parts(*system, {"text"}, "system"));
  }
  const Json* list = fields.find("messages", &Json::is_array, "a list of messages");
  require_value(list != nullptr && !list->empty(), "messages", "expected a list of messages");
  for (const Json& message : *list) {
    const Json role = message.value("role", Json());
    const Json content = message.value("content", Json());
    require_value(role == Json("user") || role == Json("assistant"), "messages",
                  "expected the roles user and assistant, got ", role.dump().substr(0, 100));
    if (content.is_array()) {
      add_blocks(role.text(), content, messages);
    } else {
      messages.add(role.text(), text_of_parts(content, {"text"}, "messages"));
    }
  }
  return messages.take();
}

Json message_tool(const Json& tool) {
  const Json type = tool.value("type", Json("custom"));
  require_value(type == Json("custom"), "tools", "expected tools with an input_schema, got ",
                tool.dump().substr(0, 100));
  return chat_tool(tool.value("name", Json()), tool.value("description", Json()),
                   tool.value("input_schema", Json()));
}

void add_choice(const Json& choice, Json& chat) {
  const Json type = choice.value("type", Json());
  if (type == Json("tool")) {
    chat.add("tool_choice",
             {{"type", "function"}, {"function", {{"name", choice.value("name", Json())}}}});
  } else {
    chat.add("tool_choice", type == Json("any") ? Json("required") : type);
  }
  if (choice.value("disable_parallel_tool_use", Json(false)) == Json(true)) {
    chat.add("parallel_tool_calls", false);
  }
}

// Adds the text's format, and whether the model is to think.
void add_output(const Json& body, Json& chat) {
  const Json format = body.value("output_config", Json()).value("format", Json());
  if (!format.is_null()) {
    require_value(format.value("type", Json()) == Json("json_schema"), "output_config",
                  "expected a format of the type json_schema");
    chat.add("response_format", {{"type", "json_schema"},
                                 {"json_schema", {{"schema", format.value("schema", Json())}}}});
  }
  const Json effort = body.value("output_config", Json()).value("effort", Json());
  if (!effort.is_null()) {
    chat.add("reasoning_effort", effort);
  }
  const Json thinking = body.value("thinking", Json()).value("type", Json());
  if (!thinking.is_null()) {
    require_value(
        thinking == Json("enabled") || thinking == Json("disabled") || thinking == Json("adaptive"),
        "thinking", "expected the type enabled, adaptive or disabled, got ",
        thinking.dump().substr(0, 100));
    chat.add("chat_template_kwargs", {{"enable_thinking", thinking != Json("disabled")}});
  }
}

class MessageForm final : public AnswerForm {
 public:
  using AnswerForm::AnswerForm;

  void open(const AnswerChoice&, const TokenEntries&) override {
    send_event("message_start",
               {{"message", message(Json::array(), Json(), Json(),
                                    {.prompt_tokens = request().prompt_tokens()})}});
  }
  void add_text(const AnswerChoice&, std::string_view piece, const TokenEntries&) override {
    if (block_ != "text") {
      open_block("text", {{"type", "text"}, {"text", ""}});
    }
    emit_delta({{"type", "text_delta"}, {"text", piece}});
  }
  void add_call(const AnswerChoice& choice, const TokenEntries&) override {
    open_block("tool_use", call(choice.calls.back(), Json::object()));
  }
  void add_arguments(const AnswerChoice&, std::string_view piece, const TokenEntries&) override {
    emit_delta({{"type", "input_json_delta"}, {"partial_json", piece}});
  }
  void close(const AnswerChoice& choice, const TokenEntries&) override {
    close_block();
    reason_ = reason_of(choice);
    stop_ = stop_of(choice);
  }
  void end(const AnswerUsage& usage) override {
    send_event("message_delta", {{"delta", {{"stop_reason", reason_}, {"stop_sequence", stop_}}},
                                 {"usage", usage_json(usage)}});
    send_event("message_stop", Json::object());
    answer().end(false);
  }

  void keep(const AnswerChoice& choice, const TokenEntries&) override {
    reason_ = reason_of(choice);
    stop_ = stop_of(choice);
    if (!choice.text.empty()) {
      blocks_.push_back({{"type", "text"}, {"text", choice.text}});
    }
    for (const AnswerCall& one : choice.calls) {
      blocks_.push_back(call(one, try_parse_json(one.arguments).value_or(Json::object())));
    }
  }
  std::string whole(const AnswerUsage& usage) override {
    return message(std::move(blocks_), reason_, stop_, usage).dump();
  }
  std::string error_event(int status, const Json& error) override {
    return event_text(anthropic_error(status, error).dump(), "error");
  }

 private:
  static Json reason_of(const AnswerChoice& choice) {
    if (choice.reason == FinishReason::length) {
      return "max_tokens";
    }
    if (choice.reason == FinishReason::stop) {
      return "stop_sequence";
    }
    return choice.calls.empty() ? "end_turn" : "tool_use";
  }
  static Json stop_of(const AnswerChoice& choice) {
    return choice.stop_text.empty() ? Json() : Json(choice.stop_text);
  }
  static Json usage_json(const AnswerUsage& usage) {
    return {{"input_tokens", usage.prompt_tokens - usage.reused_tokens},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", usage.reused_tokens},
            {"output_tokens", usage.new_tokens}};
  }
  static Json call(const AnswerCall& call, Json input) {
    return {
        {"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", std::move(input)}};
  }
  Json message(Json content, Json reason, Json stop, const AnswerUsage& usage) const {
    Json json{{"id", source().id},
              {"type", "message"},
              {"role", "assistant"},
              {"model", source().model},
              {"content", std::move(content)},
              {"stop_reason", std::move(reason)},
              {"stop_sequence", std::move(stop)},
              {"usage", usage_json(usage)}};
    if (!request().warnings.empty()) {
      json.add("warnings", request().warnings);
    }
    return json;
  }
  void send_event(const std::string& type, const Json& members) {
    Json event{{"type", type}};
    event.update(members);
    answer().send_event(event.dump(), type);
  }
  void open_block(std::string type, Json block) {
    close_block();
    block_ = std::move(type);
    send_event("content_block_start", {{"index", index_}, {"content_block", std::move(block)}});
  }
  void emit_delta(Json delta) {
    send_event("content_block_delta", {{"index", index_}, {"delta", std::move(delta)}});
  }
  void close_block() {
    if (!std::exchange(block_, {}).empty()) {
      send_event("content_block_stop", {{"index", index_++}});
    }
  }

  Index index_ = 0;              // of the block that is being written
  std::string block_;            // its type; "" between blocks
  Json blocks_ = Json::array();  // of an answer that is not streamed
  Json reason_ = {};
  Json stop_ = {};
};

}  // namespace

std::unique_ptr<AnswerForm> make_message_form(AnswerSource source, JsonAnswer& answer) {
  return std::make_unique<MessageForm>(std::move(source), answer);
}

Json chat_of_message(Fields& fields) {
  const Json& body = fields.body();
  for (const char* name : {"container", "mcp_servers", "context_management", "n"}) {
    refuse_feature(fields, name);
  }
  Json chat = shared_members(body, {"messages", "system", "tools", "tool_choice", "stop_sequences",
                                    "thinking", "output_config", "container", "mcp_servers",
                                    "context_management", "cache_control", "inference_geo"});
  const Json messages = message_list(fields);
  const bool continues = messages[messages.size() - 1]["role"] == Json("assistant");
  chat.add("messages", messages);
  if (continues) {
    chat.add("continue_final_message", true);
  }
  if (const Json* tools = fields.find("tools", &Json::is_array, "a list")) {
    chat.add("tools", json_list(*tools, message_tool));
  }
  if (const Json* choice = fields.find("tool_choice", &Json::is_object, "an object")) {
    add_choice(*choice, chat);
  }
  if (const Json* stops = fields.find("stop_sequences")) {
    chat.add("stop", *stops);
  }
  add_output(body, chat);
  return chat;
}

}  // namespace headlight::serve
