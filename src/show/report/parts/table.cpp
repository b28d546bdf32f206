#include "show/report/parts/table.h"

#include <algorithm>

#include "base/transformed.h"
#include "headlight/base/error.h"
#include "headlight/base/terminal_width.h"
#include "show/report/parts/terminal_text.h"

namespace headlight {
namespace {

constexpr std::string_view kColumnGap = "  ";

}  // namespace

void Table::add(std::vector<std::string> cells) {
  require(cells.size() == columns_.size(), "[Table] expected ", columns_.size(), " cells, got ",
          cells.size());
  rows_.push_back(std::move(cells));
}

std::vector<Index> Table::widths() const {
  std::vector<Index> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(terminal_width(columns_[i].title));
    for (const std::vector<std::string>& row : rows_) {
      widths[i] = std::max(widths[i], terminal_width(row[i]));
    }
  }
  return widths;
}

std::size_t Table::fit(Index width) {
  const std::vector<Index> all = widths();
  std::size_t fitting = 1;
  for (Index used = all[0]; fitting < all.size(); ++fitting) {
    used += std::ssize(kColumnGap) + all[fitting];
    if (used > width) {
      break;
    }
  }
  columns_.resize(fitting);
  return all.size() - fitting;
}

std::string Table::text(const Paint& paint) const {
  const std::vector<Index> all = widths();
  std::vector<std::vector<std::string>> lines{transformed(columns_, &Column::title)};
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::string text;
  for (std::size_t line = 0; line < lines.size(); ++line) {
    std::string row;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = lines[line][i];
      const std::string padded =
          columns_[i].is_text ? pad_right(cell, all[i]) : pad_left(cell, all[i]);
      row += paint ? paint(line, i, padded) : padded;
      row += kColumnGap;
    }
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string Table::text_to(Index limit) const {
  if (!is_ranked_ || limit == 0 || limit >= std::ssize(rows_)) {
    return text();
  }
  Table shown(columns_);
  shown.rows_.assign(rows_.begin(), rows_.begin() + limit);
  return shown.text() +
         concat_text("(the strongest ", limit, " of ", rows_.size(), "; --limit 0 shows all)\n");
}

}  // namespace headlight
