#include "support/models/published_templates.h"
#include "support/test.h"

namespace headlight::test {

namespace {

const std::filesystem::path kChatFolder = HEADLIGHT_SOURCE_DIR "/tests/formats/chat_templates";

}  // namespace

std::vector<Json> chat_lines(const std::string& file) {
  std::vector<Json> values;
  for (const std::string& line : lines_of(file_contents(kChatFolder / file))) {
    values.push_back(parse_json(line, file));
  }
  return values;
}

std::vector<PublishedTemplate> published_templates() {
  std::vector<PublishedTemplate> templates;
  for (const auto& entry : std::filesystem::directory_iterator(kChatFolder)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(".jsonl") || file == "conversations.jsonl" || file == "tokens.jsonl") {
      continue;
    }
    for (const Json& line : chat_lines(file)) {
      if (const Json* source = line.find("source")) {
        templates.push_back({line["template"].text(), source->text(), {}});
      } else {
        templates.back().prompts.push_back(line);
      }
    }
  }
  return templates;
}

std::string published_template(const std::string& name) {
  for (const PublishedTemplate& one : published_templates()) {
    if (one.name == name) {
      return one.source;
    }
  }
  fail("tests/formats/chat_templates has no template ", name);
}

}  // namespace headlight::test
