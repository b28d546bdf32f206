#include "views/report/table.h"

#include <algorithm>
#include <cstdio>

#include "base/transformed.h"
#include "headlight/base/error.h"
#include "headlight/base/terminal_width.h"
#include "views/report/terminal_text.h"

namespace headlight {
namespace {

constexpr std::string_view kColumnGap = "  ";

std::string formatted(const char* format, int decimals, double value) {
  char buffer[400];  // the longest double in fixed notation has 309 digits before its point
  std::snprintf(buffer, sizeof buffer, format, std::min(decimals, 20), value);
  return buffer;
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  require(cells.size() == columns_.size(), "[Table] expected ", columns_.size(), " cells, got ",
          cells.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::vector<std::string>> lines{transformed(columns_, &Column::title)};
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::vector<Index> widths(columns_.size());
  for (const std::vector<std::string>& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], terminal_width(line[i]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      row += columns_[i].is_text ? pad_right(line[i], widths[i]) : pad_left(line[i], widths[i]);
      row += kColumnGap;
    }
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string signed_number(double value, int decimals) {
  return formatted("%+.*f", decimals, value);
}

std::string fixed_number(double value, int decimals) { return formatted("%.*f", decimals, value); }

}  // namespace headlight
