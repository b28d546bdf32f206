#include "formats/chat_template/tool_style.h"

#include <algorithm>
#include <vector>

namespace headlight {
namespace {

struct KnownStyle {
  std::string_view text;                // part of the templates of this style
  std::vector<std::string_view> never;  // parts of templates of other styles
  ToolStyle style;
};

const std::vector<KnownStyle>& known_styles() {
  static const std::vector<KnownStyle> all{
      // Hermes, Qwen 2.5 and 3, SmolLM3, Granite 4
      {"<tool_call>",
       {"<function=", "<arg_key>"},
       {.begin = "<tool_call>", .end = "</tool_call>", .has_lines = true}},
      // Qwen3-Coder and later, Nemotron 3
      {"<parameter=",
       {"<arg_key>"},
       {.begin = "<tool_call>",
        .end = "</tool_call>",
        .name_begin = "<function=",
        .name_end = ">",
        .has_parameters = true,
        .has_lines = true}},
      // Mistral 7B v0.3, Nemo
      {"[TOOL_CALLS]",
       {"[ARGS]"},
       {.begin = "[TOOL_CALLS]", .end = "]", .between = "[,", .is_list = true}},
      // Mistral Small 3.2 and later, Magistral, Devstral
      {"[ARGS]",
       {},
       {.begin = "[TOOL_CALLS]", .end = "", .name_end = "[ARGS]", .id_mark = "[CALL_ID]"}},
      // Granite 3
      {"<|tool_call|>",
       {},
       {.begin = "<|tool_call|>", .end = "]", .between = "[,", .is_list = true}},
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
