#include "course/matrix_option.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace headlight::cli::lab {
namespace {

constexpr double kLargest = 1e100;  // squares of larger numbers overflow

// Rows as JSON: "1,2;3,4" becomes "[[1,2],[3,4]]", and "[1,2]" becomes "[[1,2]]".
std::string json_rows(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
  if (!text.starts_with("[")) {
    for (std::size_t at = text.find(';'); at != text.npos; at = text.find(';', at)) {
      text.replace(at, 1, "],[");
    }
    text = "[" + text + "]";
  }
  return text.starts_with("[[") ? text : "[" + text + "]";
}

}  // namespace

Tensor matrix_option(const Options& options, const std::string& name) {
  const std::string text = options.text(name);
  const std::optional<Json> rows = try_parse_json(json_rows(text));
  std::vector<double> values;
  std::size_t columns = 0;
  bool is_matrix = rows && rows->is_array() && rows->size() > 0;
  for (std::size_t r = 0; is_matrix && r < rows->size(); ++r) {
    const Json& row = (*rows)[r];
    is_matrix = row.is_array() && row.size() > 0 && (r == 0 || row.size() == columns);
    columns = is_matrix ? row.size() : 0;
    for (std::size_t k = 0; is_matrix && k < columns; ++k) {
      is_matrix = row[k].is_number();
      values.push_back(is_matrix ? row[k].number() : 0);
    }
  }
  require(is_matrix, "--", name,
          ": expected rows of equal length, as \"1,2,3;4,5,6\" or \"[[1,2,3],[4,5,6]]\", got '",
          text, "'");
  require(std::ranges::all_of(values, [](double value) { return std::abs(value) <= kLargest; }),
          "--", name, ": expected numbers from -1e100 to 1e100, got '", text, "'");
  require(std::ssize(values) <= kMostCells, "--", name, ": expected at most ", kMostCells,
          " numbers, got ", values.size());
  const auto wide = static_cast<Index>(columns);
  return Tensor::from(values, {std::ssize(values) / wide, wide});
}

}  // namespace headlight::cli::lab
