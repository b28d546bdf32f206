#include "serve/completions/api_body.h"

#include <algorithm>
#include <utility>

#include "headlight/base/error.h"

namespace headlight::serve {

Json shared_members(const Json& body, std::initializer_list<std::string_view> names) {
  Json shared = Json::object();
  for (const JsonMember& member : body.members()) {
    if (std::ranges::find(names, std::string_view(member.key)) == names.end()) {
      shared.add(member.key, member.value);
    }
  }
  return shared;
}

void refuse_feature(const Json& body, const std::string& name, const Json& harmless,
                    std::string_view reason) {
  const Json value = body.value(name, Json());
  require_value(value.is_null() || value == harmless, name, reason);
}

std::string text_of_parts(const Json& content, std::initializer_list<std::string_view> types,
                          const std::string& about) {
  if (content.is_string()) {
    return content.text();
  }
  require_value(content.is_array(), about, "expected a text or a list of parts, got ",
                content.type_name());
  std::string text;
  for (const Json& part : content) {
    const Json type = part.value("type", Json());
    const Json piece = part.value("text", Json());
    const bool is_text = type.is_string() && piece.is_string() &&
                         std::ranges::find(types, std::string_view(type.text())) != types.end();
    require_value(is_text, about, "expected parts {\"type\": \"", *types.begin(),
                  "\", \"text\": ...}: this model reads text alone, got ",
                  part.dump().substr(0, 100));
    text += piece.text();
  }
  return text;
}

void ChatMessages::add(std::string_view role, std::string_view text) {
  list_.push_back({{"role", role}, {"content", text}});
}

void ChatMessages::add_call(const Json& id, const Json& name, const Json& arguments) {
  if (list_.empty() || list_.back()["role"] != Json("assistant")) {
    add("assistant", "");
  }
  const Json text = arguments.is_string() ? arguments : Json(arguments.dump());
  list_.back()["tool_calls"].push_back(
      {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", text}}}});
}

void ChatMessages::add_result(const Json& id, std::string_view text) {
  list_.push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", text}});
}

Json chat_tool(const Json& name, const Json& description, const Json& parameters) {
  Json function{{"name", name}};
  if (!description.is_null()) {
    function.add("description", description);
  }
  if (!parameters.is_null()) {
    function.add("parameters", parameters);
  }
  return {{"type", "function"}, {"function", std::move(function)}};
}

}  // namespace headlight::serve
