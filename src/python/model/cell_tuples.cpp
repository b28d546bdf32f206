#include "python/model/cell_tuples.h"

#include "headlight/base/error.h"

namespace headlight::python {

std::vector<CellTuple> character_cells(const Tokenizer& tokenizer,
                                       std::span<const std::int32_t> ids) {
  std::vector<CellTuple> tuples;
  for (const TokenCell& cell : token_cells(tokenizer, ids, TextUnit::character)) {
    const bool is_joined = cell.end - cell.begin > 1;
    tuples.emplace_back(
        cell.begin, cell.end,
        is_joined ? cell.label : tokenizer.token_label(ids[static_cast<std::size_t>(cell.begin)]));
  }
  return tuples;
}

std::vector<TokenCell> cells_of_tuples(const std::vector<CellTuple>& tuples, Index count) {
  std::vector<TokenCell> cells;
  Index next = 0;
  for (const auto& [begin, end, label] : tuples) {
    require_value(begin == next && end > begin && end <= count, "cells", "expected cells of ",
                  count, " tokens in order, got ", begin, " to ", end, " after ", next, " tokens");
    cells.push_back({.begin = begin, .end = end, .label = label});
    next = end;
  }
  require_value(next == count, "cells", "expected cells of ", count, " tokens, got ", next);
  return cells;
}

}  // namespace headlight::python
