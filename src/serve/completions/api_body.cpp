#include "serve/completions/api_body.h"

#include <algorithm>
#include <utility>

#include "formats/chat_template/text_parts.h"
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

void refuse_feature(Fields& fields, const std::string& name, const Json& harmless,
                    std::string_view reason) {
  const Json* value = fields.find(name);
  require_value(value == nullptr || value->empty() || *value == harmless, name, reason);
}

const std::string& text_of_part(const Json& part, std::initializer_list<std::string_view> types,
                                const std::string& about) {
  const std::string* text = text_part(part, "refusal", {"refusal"});
  text = text == nullptr ? text_part(part, "text", types) : text;
  require_value(text != nullptr, about, "expected parts {\"type\": \"", *types.begin(),
                "\", \"text\": ...}: this model reads text alone, got ",
                part.dump().substr(0, 100));
  return *text;
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
    text += text_of_part(part, types, about);
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
