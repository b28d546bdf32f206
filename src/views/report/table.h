#pragma once

#include <string>
#include <vector>

namespace headlight {

// Table of text for terminals. Text columns are aligned on the left, others on the right.
class Table {
 public:
  struct Column {
    std::string title;
    bool is_text = false;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Throws Error unless there is a cell for every column.
  void add(std::vector<std::string> cells);
  // Returns the titles and the rows, each ending with a newline.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns a number with its sign: "+0.0123".
std::string signed_number(double value, int decimals);
std::string fixed_number(double value, int decimals);

}  // namespace headlight
