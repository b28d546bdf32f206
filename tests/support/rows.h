#pragma once

#include "support/test.h"

// Tables of tests in text files: what is given, and below it, indented, what is expected.
//
//   # A comment.
//   = a group, which holds for the rows below it
//   what is given, in one line or more
//     what is expected
//
// Blanks join the lines of an expected text. "..." in it stands for any text, and \n for a line
// break.
namespace headlight::test {

struct Row {
  std::string group = {};
  std::string given = {};
  std::string expected = {};
  int line = 0;  // of the file
};

// Rows of a file in tests.
std::vector<Row> rows_of(const std::string& file);

// True if the text is the expected one, in which "..." stands for any text.
bool fits(const std::string& text, const std::string& expected);

// Checks for each row that `answer` returns what is expected.
void check_rows(const std::string& file, const std::function<std::string(const Row&)>& answer);

// Message of the Error that `body` throws, without its beginning, which must be `start`; or "no
// error".
template <class Body>
std::string error_behind(const std::string& start, const Body& body) {
  const std::string error = error_of(body);
  INFO("error: " << error);
  const bool has_start = error.starts_with(start);
  CHECK((has_start || error == "no error"));
  return has_start ? error.substr(start.size()) : error;
}

// Returns a document with changes, one a line: a place (a JSON pointer) and its new value, or a
// minus and a place to remove.
nlohmann::json changed_json(nlohmann::json document, const std::string& changes);

}  // namespace headlight::test
