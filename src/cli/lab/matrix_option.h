#pragma once

#include <string>

#include "cli/terminal/options.h"
#include "headlight/tensor/tensor.h"

namespace headlight::cli::lab {

// Returns the matrix that an option gives as "1,2,3;4,5,6" or "[[1,2,3],[4,5,6]]": [R, K] float64.
// Throws Error naming the option unless all rows have the same number of finite numbers, and for
// more than kMostCells cells.
Tensor matrix_option(const Options& options, const std::string& name);

inline constexpr Index kMostCells = 4096;

}  // namespace headlight::cli::lab
