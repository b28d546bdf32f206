#include "headlight/base/error.h"
#include "serve/completions/answer_form.h"
#include "serve/completions/api_body.h"

// Translates the body of one of OpenAI's responses into that of a chat; see responses_api.cpp.
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

// Adds the format of the answer's text.
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

}  // namespace

Json chat_of_response(Fields& fields) {
  const Json& body = fields.body();
  refuse_feature(fields, "store", false, "is not supported: the server keeps no responses");
  refuse_feature(fields, "background", false);
  refuse_feature(fields, "truncation", "disabled");
  for (const char* name : {"messages", "max_tokens", "max_completion_tokens", "n"}) {
    refuse_feature(fields, name, {}, "belongs to /v1/chat/completions");
  }
  for (const char* name : {"previous_response_id", "conversation", "prompt"}) {
    refuse_feature(fields, name, {}, "is not supported: send the earlier items as input");
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
