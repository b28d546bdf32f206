#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace headlight {

// Chat templates of a model, in Jinja. Models may have several by name: "default", "tool_use" for
// prompts that offer tools, and others.
class ChatTemplates {
 public:
  using ByName = std::map<std::string, std::string, std::less<>>;

  ChatTemplates() = default;
  // One template for all prompts; "": none.
  ChatTemplates(std::string source) { set(kDefault, std::move(source)); }
  ChatTemplates(const char* source) : ChatTemplates(std::string(source)) {}

  bool empty() const { return by_name_.empty(); }
  const ByName& by_name() const { return by_name_; }
  // Returns the template of a name, or null.
  const std::string* find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &found->second;
  }
  // Returns the template that transformers uses, or null: "tool_use", if there are tools and such a
  // template, else "default".
  const std::string* chosen(bool has_tools) const {
    const std::string* tool_use = has_tools ? find(kToolUse) : nullptr;
    return tool_use != nullptr ? tool_use : find(kDefault);
  }
  void set(const std::string& name, std::string source) {
    if (!source.empty()) {
      by_name_[name] = std::move(source);
    }
  }
  bool operator==(const ChatTemplates&) const = default;

  static constexpr const char* kDefault = "default";
  static constexpr const char* kToolUse = "tool_use";

 private:
  ByName by_name_;
};

}  // namespace headlight
