#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headlight/base/index.h"
#include "show/report/parts/numbers.h"

namespace headlight {

// Table of text for terminals. Text columns are aligned on the left, others on the right.
class Table {
 public:
  struct Column {
    std::string title;
    bool is_text = false;
  };

  // `is_ranked`: the first rows are the most important.
  explicit Table(std::vector<Column> columns, bool is_ranked = false)
      : columns_(std::move(columns)), is_ranked_(is_ranked) {}

  bool empty() const { return columns_.empty() || rows_.empty(); }
  // Throws Error unless there is a cell for every column.
  void add(std::vector<std::string> cells);
  // Leaves out the last columns that do not fit a width, but never the first. Returns their number.
  std::size_t fit(Index width);
  // Function that returns a padded cell with a style. Row 0 holds the titles.
  using Paint =
      std::function<std::string(std::size_t row, std::size_t column, const std::string& cell)>;
  // Returns the titles and the rows, each ending with a newline.
  std::string text(const Paint& paint = {}) const;
  // Returns text() with the first `limit` rows of a ranked table, and how many they are; 0: all.
  std::string text_to(Index limit) const;

 private:
  std::vector<Index> widths() const;

  std::vector<Column> columns_;
  bool is_ranked_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace headlight
