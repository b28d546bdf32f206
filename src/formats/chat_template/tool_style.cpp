#include "formats/chat_template/tool_style.h"

#include <algorithm>
#include <vector>

namespace headlight {
namespace {

struct KnownStyle {
  std::string_view text;                // part of the templates of this style
  std::vector<std::string_view> never;  // parts of templates whose calls are no such objects
  ToolStyle style;
};

const std::vector<KnownStyle>& known_styles() {
  static const std::vector<KnownStyle> all{
      // Hermes, Qwen 2.5 and 3, SmolLM3
      {"<tool_call>", {"<function=", "<arg_key>"}, {.begin = "<tool_call>", .end = "</tool_call>"}},
      // Mistral 7B v0.3, Nemo
      {"[TOOL_CALLS]",
       {"[ARGS]"},
       {.begin = "[TOOL_CALLS]", .end = "]", .between = "[,", .is_list = true}},
      // Llama 3.1, 3.2 and 4
      {R"({"name": function name, "parameters": )",
       {"<function="},
       {.begin = "<|python_tag|>",
        .end = "",
        .between = ";",
        .arguments = "parameters",
        .starts_bare = true,
        .has_one_call = true}},
  };
  return all;
}

}  // namespace

const ToolStyle* tool_style_of(std::string_view chat_template) {
  const auto has = [&](std::string_view part) {
    return chat_template.find(part) != std::string_view::npos;
  };
  for (const KnownStyle& known : known_styles()) {
    if (has(known.text) && std::none_of(known.never.begin(), known.never.end(), has)) {
      return &known.style;
    }
  }
  return nullptr;
}

}  // namespace headlight
