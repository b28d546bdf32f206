#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "headlight/interpret/token_cells.h"

// Cells of tokens as plain values of Python, which can be copied and pickled.
namespace headlight::python {

using CellTuple = std::tuple<Index, Index, std::string>;  // first token, one past the last, label

// Returns the cells of characters. A cell of one token has the token's label.
std::vector<CellTuple> character_cells(const Tokenizer& tokenizer,
                                       std::span<const std::int32_t> ids);

// Returns the cells of `count` tokens. Throws Error about "cells" unless they cover the tokens in
// order.
std::vector<TokenCell> cells_of_tuples(const std::vector<CellTuple>& tuples, Index count);

}  // namespace headlight::python
