#include "course/report/prose.h"
#include "support/test.h"

namespace lab_prose_test {
// The texts of `headlight lab`: how they are filled, and that both languages say the same.
using namespace headlight::cli::lab;

const fs::path kFolder = HEADLIGHT_SOURCE_DIR "/src/course";

// Entries, kinds of blocks and placeholders of every section. Of {{name?yes:no}}, only the name
// counts.
std::map<std::string, std::multiset<std::string>> parts_of(const fs::path& file) {
  static const std::regex kPart(R"(^- [\w.]+: |^```|^\||^### |\{\{[^}?]*)");
  std::map<std::string, std::multiset<std::string>> parts;
  std::istringstream in(file_contents(file));
  std::string section;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) {
      section = line;
    }
    for (const std::string& part : matches_of(line, kPart, 0)) {
      parts[section].insert(part);
    }
  }
  return parts;
}

const Prose kProse("en/sample.md", R"(# A title

## rows

### Rows of {{count}}

Two lines
of a paragraph.

| name | loss |
| :--- | ---: |
| all | {{whole:.2}} |
| {{rows.name}}{{rows.sure?: ?}} | {{rows.loss:+.1}} |

```
{{picture}}
```

## words

- one: one
  line
- interval: {{mean}} from {{low}} to {{high}}
- value: {{value}}
- open: {{value
- element: {{list.2}}

## table

| a | b |
| --- |
)");

TEST_CASE("both languages of the lab have the same sections, entries and placeholders") {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder / "ko")) {
    names.insert(entry.path().filename().string());
  }
  for (const auto& entry : fs::directory_iterator(kFolder / "en")) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    CHECK(names.erase(name) == 1);
    const auto english = parts_of(entry.path());
    const auto korean = parts_of(kFolder / "ko" / name);
    REQUIRE(english.size() == korean.size());
    for (const auto& [section, parts] : english) {
      INFO(section);
      REQUIRE(korean.contains(section));
      CHECK(parts == korean.at(section));
    }
  }
  CHECK(names.empty());
}

TEST_CASE("a section of the lab becomes text for a terminal") {
  const Json values{{"count", 2},
                    {"whole", 0.5},
                    {"picture", "▒▒\n"},
                    {"rows",
                     {{{"name", "a"}, {"sure", true}, {"loss", 1}},
                      {{"name", "b"}, {"sure", false}, {"loss", -1}}}}};
  CHECK(kProse.title() == "A title");
  CHECK(kProse.section("rows", values) ==
        "Rows of 2\n─────────\nTwo lines of a paragraph.\n\n"
        "name  loss\nall   0.50\na     +1.0\nb ?   -1.0\n\n▒▒\n\n");
  CHECK(kProse.entry("words", "one") == "one line");
}

TEST_CASE("placeholders of the lab show numbers as their format says") {
  const Json interval{{"mean", 0.5}, {"low", -0.25}, {"high", 1}};
  const std::vector<std::tuple<std::string, Json, std::string>> cases{
      {"", 12345, "12345"},
      {",", 12345, "12,345"},
      {"", 0.0003, "0.0003"},
      {".2", 0.125, "0.12"},
      {"+.1", 2, "+2.0"},
      {"%1", 0.256, "25.6"},
      {".3", Json(), "-"},
      {"", "text", "text"},
      {"+.2", interval, "+0.50 from -0.25 to +1.00"}};
  for (const auto& [format, value, text] : cases) {
    INFO(format);
    const Prose prose("f", "## words\n- interval: {{mean}} from {{low}} to {{high}}\n- n: {{x.0:" +
                               format + "}}");
    CHECK(prose.entry("words", "n", {{"x", Json::array({value})}}) == text);
  }
}

TEST_CASE("a lab text names its file when something is missing") {
  CHECK(error_of([] { kProse.section("row"); }) == "en/sample.md: there is no section 'row'");
  CHECK(error_of([] { kProse.entry("words", "two"); }) ==
        "en/sample.md: section 'words' has no entry 'two'");
  CHECK(error_of([] { kProse.entry("words", "value"); }) ==
        "en/sample.md: no value has the name {{value}}");
  CHECK(error_of([] { kProse.entry("words", "open"); }) == "en/sample.md: {{ without }}");
  CHECK(error_of([] {
          kProse.entry("words", "element", {{"list", {0, 1}}});
        }) == "en/sample.md: no value has the name {{list.2}}");
  CHECK(error_of([] { kProse.section("table"); }) ==
        "en/sample.md: a table needs a mark for each of its columns: | a | b |");
}
}  // namespace lab_prose_test
