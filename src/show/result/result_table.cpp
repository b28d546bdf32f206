#include "show/result/result_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <span>

#include "base/strings/read_number.h"
#include "base/strings/split.h"
#include "headlight/base/nearest_name.h"
#include "show/report/parts/interval_text.h"

namespace headlight {
namespace {

constexpr double kMissingNumber = std::numeric_limits<double>::quiet_NaN();

template <class T>
const std::vector<T>* values_of(const ResultColumn& column) {
  return std::get_if<std::vector<T>>(&column.values);
}

const auto* intervals_of(const ResultColumn& column) { return values_of<Interval>(column); }

const ResultColumn& column_of(const ResultTable& table, const std::string& name) {
  const auto found = std::ranges::find(table.columns, name, &ResultColumn::name);
  require(found != table.columns.end(), "[result] has no column ", name);
  return *found;
}

bool is_number(const ResultColumn& column) {
  return intervals_of(column) != nullptr || values_of<double>(column) != nullptr;
}

Json value_json(const ResultColumn& column, std::size_t row) {
  if (const auto* json = std::get_if<std::function<Json(std::size_t)>>(&column.values)) {
    return (*json)(row);
  }
  if (const auto* numbers = values_of<std::optional<Index>>(column)) {
    const std::optional<Index> number = (*numbers)[row];
    return number ? Json(*number) : Json();
  }
  if (is_number(column)) {
    return column.is_object && intervals_of(column) != nullptr
               ? interval_json((*intervals_of(column))[row])
               : Json(column.number(row));
  }
  const std::string label = column.label(row);
  return label.empty() ? Json() : Json(label);
}

std::string number_text(const ResultColumn& column, double value) {
  switch (column.form) {
    case NumberForm::change:
      return signed_number(value, column.decimals);
    case NumberForm::percent:
      return fixed_number(100 * value, column.decimals) + "%";
    case NumberForm::plain:
    case NumberForm::share:
      break;
  }
  return fixed_number(value, column.decimals);
}

std::string cell_text(const ResultColumn& column, std::size_t row) {
  if (!column.shown.empty() || !is_number(column)) {
    return column.shown.empty() ? column.label(row) : column.shown[row];
  }
  if (std::isnan(column.number(row))) {
    return "-";
  }
  const auto number = [&](double value) { return number_text(column, value); };
  const auto* intervals = intervals_of(column);
  return (intervals == nullptr ? number(column.number(row))
                               : interval_text((*intervals)[row], number)) +
         (column.is_doubtful ? " ?" : "");
}

std::vector<std::size_t> order_of(const ResultTable& table) {
  std::vector<std::size_t> order(row_count(table));
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (table.ranking != Ranking::none) {
    const ResultColumn& by = column_of(table, table.ranked_by);
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t row) {
      const double value = by.number(row);
      return table.ranking == Ranking::size     ? std::abs(value)
             : table.ranking == Ranking::lowest ? -value
                                                : value;
    });
  }
  return order;
}

// Labels of an axis, and their places.
class GridAxis {
 public:
  // `rows`: the labels of the rows that are in the grid.
  GridAxis(const ResultAxis& axis, const std::vector<std::string>& rows) {
    Index count = 0;
    for (const std::string& row : rows) {
      count = axis.from_zero ? std::max<Index>(count, std::stoll(row) + 1) : 0;
    }
    for (const auto& known : {axis.labels, numbers_to(count), rows}) {
      std::ranges::for_each(known, [&](const std::string& label) { place(label); });
    }
  }

  std::size_t place(const std::string& label) {
    const auto [found, is_new] = places_.try_emplace(label, labels_.size());
    if (is_new) {
      labels_.push_back(label);
    }
    return found->second;
  }
  const std::vector<std::string>& labels() const { return labels_; }

 private:
  std::vector<std::string> labels_;
  std::map<std::string, std::size_t> places_;
};

struct GridCells {
  std::vector<std::size_t> rows;  // of the table
  std::vector<std::string> down;  // their labels
  std::vector<std::string> across;
};

GridCells cells_of(const ResultTable& table, const ResultView& view) {
  const ResultColumn& down = column_of(table, view.rows.column);
  const ResultColumn* across =
      view.columns.column.empty() ? nullptr : &column_of(table, view.columns.column);
  GridCells cells;
  for (std::size_t row = 0; row < row_count(table); ++row) {
    std::string label = down.label(row);
    std::string other = across == nullptr ? "" : across->label(row);
    if (!label.empty() && (across == nullptr || !other.empty())) {
      cells.rows.push_back(row);
      cells.down.push_back(std::move(label));
      cells.across.push_back(std::move(other));
    }
  }
  return cells;
}

MatrixPlot plot_of(const ResultTable& table, const ResultView& view, const std::string& note) {
  const GridCells cells = cells_of(table, view);
  GridAxis down(view.rows, cells.down);
  GridAxis across(view.columns, cells.across);
  MatrixPlot plot{.title = view.title,
                  .row_title = view.rows.title,
                  .column_title = view.columns.title,
                  .rows = down.labels(),
                  .columns = across.labels(),
                  .limit = view.limit,
                  .note = note,
                  .doubtful = !note.empty()};
  plot.values.assign(plot.rows.size() * plot.columns.size(), kMissingNumber);
  const ResultColumn& column = column_of(table, view.column);
  const auto* intervals = view.has_ends ? intervals_of(column) : nullptr;
  if (intervals != nullptr) {
    plot.lows = plot.highs = plot.values;
  }
  for (std::size_t i = 0; i < cells.rows.size(); ++i) {
    const std::size_t cell =
        down.place(cells.down[i]) * plot.columns.size() + across.place(cells.across[i]);
    plot.values[cell] = column.number(cells.rows[i]);
    if (intervals != nullptr) {
      plot.lows[cell] = (*intervals)[cells.rows[i]].low;
      plot.highs[cell] = (*intervals)[cells.rows[i]].high;
    }
  }
  return plot;
}

template <class T>
Tensor list_of(const std::vector<T>& values) {
  return Tensor::from(values, {std::ssize(values)});
}

struct Comparison {
  std::string_view name;
  bool (*holds)(double value, double bound);
};
constexpr std::array<Comparison, 6> kComparisons{
    {{"=", [](double value, double bound) { return value == bound; }},
     {"!=", [](double value, double bound) { return value != bound; }},
     {">", [](double value, double bound) { return value > bound; }},
     {">=", [](double value, double bound) { return value >= bound; }},
     {"<", [](double value, double bound) { return value < bound; }},
     {"<=", [](double value, double bound) { return value <= bound; }}}};
constexpr std::size_t kTextComparisons = 2;  // the first two also compare texts

struct Condition {
  const ResultColumn& column;
  const Comparison& comparison;
  std::string text;   // value to compare with, for text columns
  double number = 0;  // for others
};

Condition parse_condition(const ResultTable& table, const std::string& part) {
  const std::size_t begin = part.find_first_of("<>=!");
  const std::size_t end =
      begin == std::string::npos ? begin : part.find_first_not_of("<>=!", begin);
  require_value(begin != std::string::npos && begin > 0 && end != std::string::npos, "filter",
                "expected a condition like induction>0.5, got '", part, "'");
  const ResultColumn& column = column_called(table, part.substr(0, begin), "filter");
  const std::string comparison = part.substr(begin, end - begin);
  const std::string text = part.substr(end);
  const auto known =
      std::span(kComparisons).first(column.is_text() ? kTextComparisons : kComparisons.size());
  const auto found =
      std::ranges::find(known, comparison == "==" ? "=" : comparison, &Comparison::name);
  require_value(found != known.end(), "filter", column.name, " cannot be compared by '", comparison,
                "'");
  const double number = read_number<double>(text).value_or(std::nan(""));
  require_value(column.is_text() || std::isfinite(number), "filter", "expected a number after ",
                column.name, found->name, ", got '", text, "'");
  return {column, *found, text, number};
}

// Removes blanks and '_': filters may write the labels with either or neither.
std::string plain(std::string text) {
  std::erase_if(text, [](char letter) { return letter == ' ' || letter == '_'; });
  return text;
}

bool satisfies(std::size_t row, const Condition& condition) {
  if (condition.column.is_text()) {
    const bool same = plain(condition.column.label(row)) == plain(condition.text);
    return same == (condition.comparison.name == "=");
  }
  const double value = condition.column.number(row);
  return !std::isnan(value) && condition.comparison.holds(value, condition.number);
}

bool comes_before(std::size_t a, std::size_t b, const ResultColumn& column, bool ascending) {
  if (const auto* heads = std::get_if<std::vector<std::optional<HeadId>>>(&column.values)) {
    return (*heads)[a] < (*heads)[b];
  }
  if (column.is_text()) {
    return column.label(a) < column.label(b);
  }
  const double x = column.number(a);
  const double y = column.number(b);
  if (std::isnan(x) || std::isnan(y)) {
    return !std::isnan(x) && std::isnan(y);
  }
  return ascending || column.is_whole() ? x < y : x > y;
}

}  // namespace

ResultColumn ResultColumn::as(NumberForm of_numbers, int places) const {
  ResultColumn column = *this;
  column.form = of_numbers;
  column.decimals = places;
  return column;
}

std::size_t row_count(const ResultTable& table) {
  const auto size = []<class V>(const V& values) -> std::size_t {
    if constexpr (requires { values.size(); }) {
      return values.size();
    }
    return 0;
  };
  return table.columns.empty() ? 0 : std::visit(size, table.columns.front().values);
}

bool ResultColumn::is_text() const { return !is_number(*this) && !is_whole(); }

std::string ResultColumn::label(std::size_t row) const {
  if (const auto* texts = values_of<std::string>(*this)) {
    return (*texts)[row];
  }
  if (const auto* numbers = values_of<std::optional<Index>>(*this)) {
    const std::optional<Index> number = (*numbers)[row];
    return number ? std::to_string(*number) : "";
  }
  const auto* heads = values_of<std::optional<HeadId>>(*this);
  return heads != nullptr && (*heads)[row] ? head_name(*(*heads)[row]) : "";
}

double ResultColumn::number(std::size_t row) const {
  if (const auto* intervals = intervals_of(*this)) {
    return (*intervals)[row].mean;
  }
  if (const auto* indices = values_of<std::optional<Index>>(*this)) {
    const std::optional<Index> index = (*indices)[row];
    return index ? static_cast<double>(*index) : kMissingNumber;
  }
  const auto* numbers = values_of<double>(*this);
  return numbers != nullptr ? (*numbers)[row] : kMissingNumber;
}

Json rows_of(const ResultTable& table, const std::function<void()>& pause) {
  constexpr std::size_t kAtOnce = 4096;
  Json rows = Json::array();
  for (std::size_t row = 0; row < row_count(table); ++row) {
    Json json = Json::object();
    for (const ResultColumn& column : table.columns) {
      if (column.has_use(ColumnUse::json)) {
        json.add(column.name, value_json(column, row));
        if (intervals_of(column) != nullptr && !column.is_object) {
          add_ends(column.name, (*intervals_of(column))[row], json);
        }
      }
    }
    rows.push_back(std::move(json));
    if (rows.size() % kAtOnce == 0) {
      pause();
    }
  }
  return rows;
}

Table text_table(const ResultTable& table) {
  std::vector<Table::Column> titles;
  std::vector<const ResultColumn*> columns;
  for (const ResultColumn& column : table.columns) {
    if (!column.title.empty()) {
      titles.push_back({column.title, column.is_text() || intervals_of(column) != nullptr ||
                                          !column.shown.empty()});
      columns.push_back(&column);
    }
  }
  Table text(std::move(titles), table.ranking != Ranking::none);
  for (const std::size_t row : order_of(table)) {
    text.add(
        transformed(columns, [&](const ResultColumn* column) { return cell_text(*column, row); }));
  }
  return text;
}

std::vector<ResultGrid> grids_of(const ResultTable& table, const std::string& note) {
  std::vector<ResultGrid> grids;
  for (const ResultView& view : table.views) {
    MatrixPlot plot = plot_of(table, view, note);
    if (!plot.values.empty()) {
      grids.push_back({view.name, std::move(plot)});
    }
  }
  return grids;
}

void add_arrays(const ResultTable& table, const std::string& prefix, ResultArrays& arrays) {
  for (const ResultColumn& column : table.columns) {
    const std::string name = prefix + column.name;
    const auto add = [&](const char* end, const auto& values) {
      arrays.tensors.emplace_back(name + end, list_of(values));
    };
    if (!column.has_use(ColumnUse::arrays)) {
      continue;
    }
    if (const auto* texts = values_of<std::string>(column)) {
      arrays.texts.emplace_back(name, *texts);
    } else if (const auto* intervals = intervals_of(column)) {
      add("", transformed(*intervals, &Interval::mean));
      add("_low", transformed(*intervals, &Interval::low));
      add("_high", transformed(*intervals, &Interval::high));
    } else if (const auto* numbers = values_of<double>(column)) {
      add("", *numbers);
    } else if (const auto* indices = values_of<std::optional<Index>>(column)) {
      add("", transformed(*indices, [](const std::optional<Index>& index) {
            return static_cast<std::int32_t>(index.value_or(-1));
          }));
    } else if (const auto* heads = values_of<std::optional<HeadId>>(column)) {
      add("", transformed(*heads, [](const std::optional<HeadId>& head) {
            return static_cast<std::int32_t>(head ? head->head : -1);
          }));
    }
  }
}

const ResultColumn& column_called(const ResultTable& table, std::string_view name,
                                  std::string_view option) {
  std::vector<std::string> names;
  for (const ResultColumn& column : table.columns) {
    if (column.has_use(ColumnUse::arrays)) {
      if (column.name == name) {
        return column;
      }
      names.push_back(column.name);
    }
  }
  fail_value(option, "no column is called '", name, "'", did_you_mean(name, names));
}

std::vector<ResultColumn> columns_called(const ResultTable& table, const std::string& names) {
  std::vector<ResultColumn> chosen = transformed(
      split_at_commas(names), [&](const std::string& name) { return column_called(table, name); });
  require_value(!chosen.empty(), "columns", "expected names of columns, got none");
  return chosen;
}

std::vector<std::size_t> chosen_rows(const ResultTable& table, const RowChoice& choice) {
  std::vector<std::size_t> rows(row_count(table));
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  for (const std::string& part : split_at_commas(choice.filter)) {
    const Condition condition = parse_condition(table, part);
    std::erase_if(rows, [&](std::size_t row) { return !satisfies(row, condition); });
  }
  if (choice.sort) {
    const ResultColumn& column = column_called(table, *choice.sort, "sort");
    std::ranges::stable_sort(rows, [&](std::size_t a, std::size_t b) {
      return comes_before(a, b, column, choice.ascending);
    });
  }
  return rows;
}

}  // namespace headlight
