#include "support/rows.h"
#include "support/test.h"

namespace headlight::test {

namespace {

void append(std::string& text, char separator, const std::string& line) {
  text += (text.empty() ? "" : std::string(1, separator)) + line;
}

// Shows line breaks as \n.
std::string in_one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at) {
    text.replace(at, 1, "\\n");
  }
  return text;
}

}  // namespace

std::vector<Row> rows_of(const std::string& file) {
  std::ifstream lines(HEADLIGHT_SOURCE_DIR "/tests/" + file);
  REQUIRE(lines.is_open());
  std::vector<Row> rows;
  Row row;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    if (line.starts_with("  ")) {
      append(row.expected, ' ', line.substr(2));
      continue;
    }
    if (!row.expected.empty()) {
      rows.push_back(row);
      row = {.group = row.group};
    }
    if (line.starts_with("= ")) {
      REQUIRE(row.given.empty());  // a row without what is expected
      row.group = line.substr(2);
      continue;
    }
    row.line = row.given.empty() ? number : row.line;
    append(row.given, '\n', line);
  }
  REQUIRE_FALSE(row.expected.empty());
  rows.push_back(row);
  return rows;
}

bool fits(const std::string& text, const std::string& expected) {
  const std::size_t gap = expected.find("...");
  if (gap == std::string::npos) {
    return text == expected;
  }
  if (!text.starts_with(expected.substr(0, gap))) {
    return false;
  }
  const std::string rest = expected.substr(gap + 3);
  for (std::size_t at = gap; at <= text.size(); ++at) {
    if (fits(text.substr(at), rest)) {
      return true;
    }
  }
  return false;
}

void check_rows(const std::string& file, const std::function<std::string(const Row&)>& answer) {
  for (const Row& row : rows_of(file)) {
    INFO("tests/" << file << ":" << row.line << ": " << row.given.substr(0, 1000));
    const std::string text = in_one_line(answer(row));
    INFO("expected " << row.expected << "\ngot      " << text);
    CHECK(fits(text, row.expected));
  }
}

nlohmann::json changed_json(nlohmann::json document, const std::string& changes) {
  using nlohmann::json;
  for (const std::string& line : lines_of(changes)) {
    const std::size_t blank = line.find(' ');
    if (line[0] == '-') {
      const json::json_pointer place(line.substr(2));
      document[place.parent_pointer()].erase(place.back());
    } else {
      document[json::json_pointer(line.substr(0, blank))] = json::parse(line.substr(blank + 1));
    }
  }
  return document;
}

}  // namespace headlight::test
