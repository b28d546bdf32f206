#pragma once

#include "headlight/tensor/shape.h"

namespace headlight::kernels {

// sums[c] = sum over rows of x[row][c]: x [rows, columns], contiguous. Fixed blocks of rows are
// summed apart and then together in order.
template <class T>
void column_sums(const T* x, Index rows, Index columns, T* sums);

}  // namespace headlight::kernels
