#include "headlight/formats/chat_template/chat_template.h"

#include "base/json.h"
#include "formats/jinja/evaluator.h"

namespace headlight {
namespace {

constexpr const char* kReasoning[] = {"reasoning_content", "thinking", "reasoning"};

// Returns a message without members that are null, with one value for all names of the reasoning.
Json normalized_message(const Json& message) {
  require_value(message.is_object(), "messages", "expected a list of objects, got a ",
                message.type_name());
  Json kept = Json::object();
  for (const JsonMember& member : message.members()) {
    if (!member.value.is_null()) {
      kept.add(member.key, member.value);
    }
  }
  for (const char* name : kReasoning) {
    if (const Json* reasoning = kept.find(name)) {
      const Json value = *reasoning;
      Json aliased = Json::object();
      aliased.add("thinking", value);
      aliased.update(kept);
      aliased["reasoning_content"] = value;
      return aliased;
    }
  }
  return kept;
}

Json variables_of(const ChatTemplateInput& input) {
  const Json messages = parse_json(input.messages, "messages");
  require_value(messages.is_array() && !messages.empty(), "messages",
                "expected a list of messages, got ",
                messages.empty() ? "none" : messages.type_name());
  Json variables = Json::object();
  variables.add("messages", json_list(messages, normalized_message));
  variables.add("tools", input.tools.empty() ? Json() : parse_json(input.tools, "tools"));
  variables.add("documents", nullptr);
  variables.add("add_generation_prompt", input.add_generation_prompt);
  variables.update(parse_json(input.variables, "variables"));
  return variables;
}

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm result{};
  localtime_r(&now, &result);
  return result;
}

}  // namespace

struct ChatTemplate::Program {
  jinja::NodePtr body;
};

ChatTemplate::ChatTemplate(std::string source)
    : source_(std::move(source)),
      program_(std::make_unique<const Program>(Program{jinja::parse(source_)})) {}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

std::string ChatTemplate::render(const ChatTemplateInput& input) const {
  return jinja::render(*program_->body, variables_of(input), input.now ? *input.now : local_time());
}

}  // namespace headlight
