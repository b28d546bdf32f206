#pragma once

#include <string>
#include <vector>

namespace headlight {

// Rows of text in columns, for terminals: numbers are aligned on the right, the first column and
// texts on the left.
class Table {
 public:
  struct Column {
    std::string title;
    bool is_text = false;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Throws Error unless there is a cell for every column.
  void add(std::vector<std::string> cells);
  // Titles, rows, each ending with a newline.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "+0.0123": a change, with its sign.
std::string signed_number(double value, int decimals);
std::string fixed_number(double value, int decimals);

}  // namespace headlight
