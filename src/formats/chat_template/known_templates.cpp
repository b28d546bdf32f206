#include "headlight/formats/chat_template/known_templates.h"

#include <filesystem>

#include "base/strings/printable.h"
#include "base/strings/split.h"
#include "base/transformed.h"
#include "formats/chat_template/known_files.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest_name.h"
#include "headlight/tensor/shape.h"
#include "storage/input_file.h"

namespace headlight {
namespace {

constexpr std::string_view kEnding = ".jinja";
constexpr Index kLargestTemplate = Index{1} << 24;  // bytes

}  // namespace

std::vector<std::string> chat_template_names() {
  return transformed(known_chat_templates(), [](const EmbeddedFile& file) {
    return std::string(file.name.substr(0, file.name.size() - kEnding.size()));
  });
}

std::string read_chat_template(const std::string& name_or_file, const ChatTemplates& own) {
  if (const std::string* source = own.find(name_or_file)) {
    return *source;
  }
  for (const EmbeddedFile& file : known_chat_templates()) {
    if (file.name == name_or_file + std::string(kEnding)) {
      return std::string(file.contents);
    }
  }
  std::vector<std::string> names = chat_template_names();
  for (const auto& [name, source] : own.by_name()) {
    names.push_back(escaped(name));
  }
  if (!std::filesystem::exists(name_or_file)) {
    fail_value("chat_template", "expected a file, ", joined(names, ", "), ", got ",
               in_quotes(name_or_file), did_you_mean(name_or_file, names));
  }
  return read_whole_file(name_or_file, kLargestTemplate);
}

}  // namespace headlight
