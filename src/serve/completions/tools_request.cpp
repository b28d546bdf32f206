#include "serve/completions/tools_request.h"

#include <algorithm>

#include "headlight/base/error.h"

namespace headlight::serve {
namespace {

constexpr std::size_t kMostCalls = 128;  // in an answer
constexpr std::size_t kLongestName = 64;

bool is_name(const Json& name) {
  constexpr std::string_view kCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:";
  return name.is_string() && !name.text().empty() && name.text().size() <= kLongestName &&
         name.text().find_first_not_of(kCharacters) == std::string::npos;
}

bool has_object(const Json& types) {
  return std::find(types.begin(), types.end(), Json("object")) != types.end();
}

// Returns the member "function" of a tool.
Json checked_function(const Json& tool) {
  const Json function = tool.value("function", Json());
  require_value(tool.value("type", Json()) == Json("function") && function.is_object(), "tools",
                "expected {\"type\": \"function\", \"function\": {\"name\": ...}}, got ",
                tool.dump().substr(0, 100));
  const Json name = function.value("name", Json());
  require_value(is_name(name), "tools", "expected names of 1 to ", kLongestName,
                " letters, digits, '_', '-', '.' and ':', got ", name.dump().substr(0, 100));
  const Json parameters = function.value("parameters", Json());
  require_value(parameters.is_null() || parameters.is_object(), "tools",
                "expected a JSON schema as the parameters of ", name.text(), ", got ",
                parameters.type_name());
  const Json types = parameters.value("type", Json("object"));
  require_value(types == Json("object") || (types.is_array() && has_object(types)), "tools",
                "expected the type object for the parameters of ", name.text(), ", got ",
                types.dump().substr(0, 100));
  return function;
}

Json read_functions(const Json& tools) {
  require_value(tools.size() <= kMostTools, "tools", "expected at most ", kMostTools, ", got ",
                tools.size());
  Json functions = json_list(tools, checked_function);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      require_value(functions[i]["name"] != functions[j]["name"], "tools",
                    "expected different names, got ", functions[i]["name"].text(), " twice");
    }
  }
  return functions;
}

// Restricts the functions to the one that "tool_choice" names.
void choose_function(const Json& choice, ToolsRequest& request) {
  const Json function = choice.value("function", Json());
  const Json name = function.value("name", Json());
  require_value(choice.value("type", Json()) == Json("function") && name.is_string(), "tool_choice",
                "expected none, auto, required, or {\"type\": \"function\", \"function\": "
                "{\"name\": ...}}, got ",
                choice.dump().substr(0, 100));
  const auto found = std::find_if(request.functions.begin(), request.functions.end(),
                                  [&](const Json& one) { return one["name"] == name; });
  require_value(found != request.functions.end(), "tool_choice", "expected a function of tools, ",
                "got ", name.dump().substr(0, 100));
  request.functions = Json::array({*found});
  request.most_calls = 1;
}

}  // namespace

ToolCallParser ToolsRequest::parser(bool in_pieces) const {
  return {*style,
          {.functions = functions,
           .has_begun = must_call,
           .most_calls = most_calls,
           .in_pieces = in_pieces}};
}

ToolsRequest read_tools(Fields& fields, const ChatFormat& chat) {
  const Json* tools = fields.find("tools", &Json::is_array, "a list");
  const Json* choice = fields.find("tool_choice");
  const bool must_call = choice != nullptr && (*choice == Json("required") || choice->is_object());
  const bool parallel = fields.boolean("parallel_tool_calls", !must_call);
  const bool has_tools = tools != nullptr && !tools->empty();
  const bool is_free = choice == nullptr || *choice == Json("none") || *choice == Json("auto");
  require_value(has_tools || is_free, "tool_choice", "expected tools beside it");
  ToolsRequest request;
  if (!has_tools) {
    return request;
  }
  request.functions = read_functions(*tools);
  const ToolStyle* style = tool_style_of(chat.source(true));
  require_value(style != nullptr, "tools",
                "this model's chat template has no tool calls that the server can read: expected "
                "the style of Hermes and Qwen, Llama 3, Mistral, or Granite 3");
  if (choice != nullptr && *choice == Json("none")) {
    return request;
  }
  request.style = style;
  request.tools = *tools;
  request.most_calls = parallel && !style->has_one_call ? kMostCalls : 1;
  request.must_call = must_call;
  if (!is_free && *choice != Json("required")) {
    choose_function(*choice, request);
  }
  return request;
}

std::string begin_of_call(const ToolStyle& style) {
  return style.starts_bare ? "" : concat_text(style.begin, style.has_lines ? "\n" : "");
}

std::vector<std::int32_t> tool_marks(const ToolStyle& style, const Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids;
  for (const std::string_view mark : {style.begin, style.end, style.name_end, style.id_mark}) {
    if (const auto id = tokenizer.special_id(mark)) {
      ids.push_back(*id);
    }
  }
  return ids;
}

}  // namespace headlight::serve
