#include "serve/completions/chat_messages.h"

#include <utility>

#include "formats/chat_template/tool_style.h"
#include "headlight/base/error.h"
#include "serve/completions/api_body.h"

namespace headlight::serve {
namespace {

// Returns a text, or the joined texts of a list of parts {"type": "text", "text": ...}. An answer
// may have none: beside calls or a refusal, or when it was cut off.
std::string content_of(const Json& message, bool is_answer) {
  const Json content = message.value("content", Json());
  if (content.is_null() && is_answer) {
    const Json refusal = message.value("refusal", Json());
    return refusal.is_string() ? refusal.text() : "";
  }
  return text_of_parts(content, {"text"}, "messages");
}

// Returns an object whose text was cut off, as far as it goes: with the ends of its open strings
// and brackets; {} if that is no object.
Json completed_object(std::string text) {
  std::string ends;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_in_string && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      is_in_string = !is_in_string;
    } else if (!is_in_string && (text[i] == '{' || text[i] == '[')) {
      ends.insert(ends.begin(), text[i] == '{' ? '}' : ']');
    } else if (!is_in_string && !ends.empty() && text[i] == ends.front()) {
      ends.erase(ends.begin());
    }
  }
  const Json object = try_parse_json(text + (is_in_string ? "\"" : "") + ends).value_or(Json());
  return object.is_object() ? object : Json::object();
}

// Returns a call as chat templates read it.
Json call_of(const Json& call) {
  const Json function = call.value("function", Json());
  const Json name = function.value("name", Json());
  Json arguments = function.value("arguments", Json::object());
  if (arguments.is_string()) {
    arguments = completed_object(arguments.text());
  }
  require_value(name.is_string() && arguments.is_object(), "messages",
                "expected tool_calls [{\"id\", \"type\": \"function\", \"function\": {\"name\", "
                "\"arguments\"}}] whose arguments are a JSON object, got ",
                call.dump().substr(0, 200));
  return {{"id", call.value("id", Json())},
          {"type", "function"},
          {"function", {{"name", name}, {"arguments", std::move(arguments)}}}};
}

// Returns the members of a message that only tools need.
Json tool_members(const Json& message, const std::string& role) {
  Json more = Json::object();
  const Json calls = message.value("tool_calls", Json());
  require_value(calls.is_null() || calls.is_array(), "messages",
                "expected a list of tool_calls, got ", calls.type_name());
  if (role == "assistant" && !calls.empty()) {
    more.add("tool_calls", json_list(calls, call_of));
  }
  for (const char* key : {"tool_call_id", "name"}) {
    const Json value = message.value(key, Json());
    require_value(value.is_null() || value.is_string(), "messages", "expected a text as ", key,
                  ", got ", value.type_name());
    if (role == "tool" && value.is_string()) {
      more.add(key, value);
    }
  }
  return more;
}

// Returns calls as a model with a list of calls writes them.
std::string written_calls(const Json& calls, const ToolStyle& style) {
  std::string text;
  for (const Json& call : calls) {
    const Json& function = call["function"];
    const Json object{{"name", function["name"]}, {style.arguments, function["arguments"]}};
    text += (text.empty() ? "" : ", ") + object.dump();
  }
  return concat_text(style.begin, '[', text, ']');
}

// `style`: null if the template has none.
ChatMessage message_of(const Json& message, const ToolStyle* style, bool writes_calls) {
  const Json role = message.value("role", Json());
  require_value(role.is_string(), "messages", "expected a role in every message");
  const std::string name = role.text() == "developer" ? "system" : role.text();
  const bool is_tool = name == "tool";
  require_value(name == "system" || name == "user" || name == "assistant" || is_tool, "messages",
                "expected the roles system, developer, user, assistant and tool, got '",
                escaped(name), "'");
  const Json more = tool_members(message, name);
  require_value(style != nullptr || (!is_tool && more.empty()), "messages",
                "this model's chat template has no tool calls that the server can read");
  std::string content = content_of(message, name == "assistant");
  if (more.contains("tool_calls") && !writes_calls) {
    content += written_calls(more["tool_calls"], *style);
  }
  return {name, std::move(content), more.dump()};
}

}  // namespace

std::vector<ChatMessage> read_messages(Fields& fields, const ChatFormat& chat, bool has_tools) {
  const std::string_view source = chat.source(has_tools);
  const ToolStyle* style = tool_style_of(source);
  const bool writes_calls =
      style == nullptr || !style->is_list || source.find("tool_calls") != std::string_view::npos;
  const Json& list = fields.get("messages");
  require_value(list.is_array() && !list.empty(), "messages", "expected a list of messages, got ",
                list.is_array() ? "none" : list.type_name());
  std::vector<ChatMessage> messages;
  for (const Json& message : list) {
    messages.push_back(message_of(message, style, writes_calls));
  }
  return messages;
}

}  // namespace headlight::serve
