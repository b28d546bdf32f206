#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/transformed.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/head_id.h"
#include "show/report/parts/table.h"
#include "show/result/result.h"

// Columns of values, from which text, JSON, arrays and grids are made.
namespace headlight {

// Values of the rows: texts, whole numbers, heads, numbers, means with intervals, or any JSON. A
// missing number or head, and an empty text, is null in JSON and in no cell of a grid; as an int32
// array, a missing number is -1, and a head is its number in the layer.
using ColumnValues = std::variant<std::vector<std::string>, std::vector<std::optional<Index>>,
                                  std::vector<std::optional<HeadId>>, std::vector<double>,
                                  std::vector<Interval>, std::function<Json(std::size_t row)>>;

// "+0.12", "0.12", "0.12" and "12.00%" of a share.
enum class NumberForm { change, plain, share, percent };

// Where a column is besides the text and the axes of grids.
enum class ColumnUse { all, json, arrays, none };

struct ResultColumn {
  std::string name;  // of the member in JSON and of the array
  ColumnValues values = {};
  std::string title = {};  // in the text; "": not there
  ColumnUse use = ColumnUse::all;
  NumberForm form = NumberForm::change;
  int decimals = 3;
  // An interval in JSON is {mean, low, high}, not NAME, NAME_low and NAME_high.
  bool is_object = false;
  bool is_doubtful = false;             // the numbers of the text have a question mark
  std::vector<std::string> shown = {};  // cells of the text, instead of the values

  // Returns the column with another form of its numbers.
  ResultColumn as(NumberForm of_numbers, int places) const;
  // Returns false for numbers, whole or not, and intervals.
  bool is_text() const;
  bool is_whole() const {
    return std::holds_alternative<std::vector<std::optional<Index>>>(values);
  }
  // Returns a text, whole number or head as text; "": missing, or another value.
  std::string label(std::size_t row) const;
  // Returns a number, whole or not, or the mean of an interval; NaN: missing, or another value.
  double number(std::size_t row) const;
  bool has_use(ColumnUse of) const { return use == ColumnUse::all || use == of; }
};

// Returns values as a column holds them.
template <class T>
ColumnValues column_values(std::vector<T> values) {
  if constexpr (std::is_constructible_v<ColumnValues, std::vector<T>>) {
    return values;
  } else if constexpr (std::is_same_v<T, Json>) {
    return [json = std::move(values)](std::size_t row) { return json[row]; };
  } else if constexpr (std::is_same_v<T, HeadId>) {
    return std::vector<std::optional<HeadId>>(values.begin(), values.end());
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::vector<std::optional<Index>>(values.begin(), values.end());
  } else {
    return std::vector<std::string>(values.begin(), values.end());
  }
}

// Makes columns of a list, with the value of a member or function for each element.
template <class Items>
struct ColumnsOf {
  const Items& items;

  template <class Value>
  ResultColumn operator()(std::string name, const Value& value, std::string title = {},
                          ColumnUse use = ColumnUse::all) const {
    return {std::move(name), column_values(transformed(items, value)), std::move(title), use};
  }
  // Returns a column of the text, of axes or of rankings only.
  template <class Value>
  ResultColumn hidden(std::string name, const Value& value, std::string title = {}) const {
    return (*this)(std::move(name), value, std::move(title), ColumnUse::none);
  }
};
template <class Items>
ColumnsOf(const Items&) -> ColumnsOf<Items>;

struct ResultAxis {
  std::string title = {};
  std::string column = {};               // whose values are the labels of the rows
  bool from_zero = false;                // the labels are all numbers up to the largest
  std::vector<std::string> labels = {};  // all, in their order; empty: in the order of the rows
};

// A column over one or two others, as a list or a heat map.
struct ResultView {
  std::string name = {};  // of the grid and the arrays
  std::string column = {};
  std::string title = {};
  ResultAxis rows = {};
  ResultAxis columns = {};  // without a column: the view is a list
  double limit = 0;         // see MatrixPlot
  bool has_ends = true;     // with the ends of intervals
};

enum class Ranking { none, size, highest, lowest };  // size: without the sign

struct ResultTable {
  std::string key = {};  // of the list in JSON; "": Question::rows
  std::vector<ResultColumn> columns = {};
  std::vector<ResultView> views = {};
  Ranking ranking = Ranking::none;  // of the text, by this column
  std::string ranked_by = {};
};

// The axes of a grid of layers by heads, from the columns "layer" and "index".
inline const ResultAxis kLayerAxis{.title = "layer", .column = "layer", .from_zero = true};
inline const ResultAxis kHeadAxis{.title = "head", .column = "index", .from_zero = true};

std::size_t row_count(const ResultTable& table);
// Returns a list of objects. Calls `pause` after every 4096 rows.
Json rows_of(
    const ResultTable& table, const std::function<void()>& pause = [] {});
// Returns the columns with a title.
Table text_table(const ResultTable& table);
// Returns the views with a note; if there is one, their cells are doubtful.
std::vector<ResultGrid> grids_of(const ResultTable& table, const std::string& note);
// Adds an array [R] of each column, with a prefix of its name.
void add_arrays(const ResultTable& table, const std::string& prefix, ResultArrays& arrays);

// Returns the column with arrays called `name`. Throws Error "OPTION: ..." with the nearest name.
const ResultColumn& column_called(const ResultTable& table, std::string_view name,
                                  std::string_view option = "columns");
// Returns the columns called "a,b,c". Throws Error "columns: ..." for an unknown or no name.
std::vector<ResultColumn> columns_called(const ResultTable& table, const std::string& names);

struct RowChoice {
  std::string filter = {};  // "induction>0.5,layer>=2,verdict=induction"; "": all rows
  // Numbers fall (`ascending`: rise), whole numbers and texts always rise; none: as in the table.
  std::optional<std::string> sort = {};
  bool ascending = false;
};

// Returns the rows that meet every condition, in the order of a column; missing numbers meet none
// and come last. Throws Error "filter: ..." or "sort: ..." for an invalid choice.
std::vector<std::size_t> chosen_rows(const ResultTable& table, const RowChoice& choice);

}  // namespace headlight
