#pragma once

#include <string>

#include "cli/terminal/options.h"
#include "headlight/tensor/tensor.h"

namespace headlight::cli::lab {

inline constexpr Index kMostCells = 4096;

// Returns the matrix that an option gives as "1,2,3;4,5,6" or "[[1,2,3],[4,5,6]]": [R, K] float64.
// Throws Error naming the option unless all rows have the same number of numbers up to 1e100, and
// for more than kMostCells cells.
Tensor matrix_option(const Options& options, const std::string& name);

}  // namespace headlight::cli::lab
