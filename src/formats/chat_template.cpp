#include "headlight/formats/chat_template.h"

#include "base/json.h"
#include "files/input_file.h"
#include "headlight/formats/gguf/gguf.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr Index kLargestTemplate = Index{1} << 26;  // bytes

std::string gguf_template(const fs::path& path) {
  const GgufFile file(path);
  const auto* text = std::get_if<std::string>(file.find_value("tokenizer.chat_template"));
  return text == nullptr ? "" : *text;
}

// Returns the value of chat_template: a text, or the "default" in a list of {"name", "template"}.
std::string configured_template(const Json& config) {
  const Json* value = config.find("chat_template");
  if (value == nullptr || value->is_string()) {
    return value == nullptr ? "" : value->text();
  }
  if (!value->is_array()) {
    return "";
  }
  for (const Json& one : *value) {
    const Json* name = one.find("name");
    const Json* text = one.find("template");
    const bool is_default = name != nullptr && name->is_string() && name->text() == "default";
    if (is_default && text != nullptr && text->is_string()) {
      return text->text();
    }
  }
  return "";
}

}  // namespace

std::string read_chat_template(const fs::path& place) {
  if (is_gguf_file(place)) {
    return gguf_template(place);
  }
  if (fs::is_regular_file(place / "chat_template.jinja")) {
    return read_whole_file(place / "chat_template.jinja", kLargestTemplate);
  }
  const fs::path config = place / "tokenizer_config.json";
  if (!fs::is_regular_file(config)) {
    return "";
  }
  return configured_template(
      try_parse_json(read_whole_file(config, kLargestTemplate)).value_or(Json()));
}

}  // namespace headlight
