#include "support/test.h"

// Returns the headers and tests that define each type, by qualified name. Types in a namespace are
// not indented; nested types are, so the pattern skips them.
std::multimap<std::string, std::string> defined_types() {
  static const std::regex kNamespace(R"(^namespace ([\w:]+) \{)");
  // Specialisations of a template differ by their arguments.
  static const std::regex kType(R"(^(?:struct|class|enum class) (\w+)\b(?!<)[^;]*$)");
  std::multimap<std::string, std::string> files;
  const fs::path root = HEADLIGHT_SOURCE_DIR;
  for (const char* top : {"include", "src", "tests"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".h") && !name.ends_with("_test.cpp")) {
        continue;
      }
      std::ifstream in(entry.path());
      std::string scope;
      for (std::string line; std::getline(in, line);) {
        std::smatch match;
        if (std::regex_search(line, match, kNamespace)) {
          scope = match[1];
        } else if (std::regex_match(line, match, kType)) {
          files.emplace(scope + "::" + match[1].str(), fs::relative(entry.path(), root).string());
        }
      }
    }
  }
  return files;
}

// The linker merges two types of the same name without a warning: code for one type would then
// write to objects of the other.
TEST_CASE("no two headers or tests define types of the same name", "[structure]") {
  const std::multimap<std::string, std::string> types = defined_types();
  REQUIRE(types.size() > 150);
  for (auto type = types.begin(); type != types.end(); ++type) {
    const auto next = std::next(type);
    const bool twice = next != types.end() && next->first == type->first;
    INFO(type->first << " in " << type->second << (twice ? " and " + next->second : ""));
    CHECK(!twice);
  }
}
