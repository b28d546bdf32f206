#pragma once

#include "headlight/tensor/shape.h"

namespace headlight::kernels {

// sums[c] = sum over rows of x[row][c], x [rows, columns] contiguous. Sums fixed blocks of rows
// separately, then adds the block sums in order.
template <class T>
void column_sums(const T* x, Index rows, Index columns, T* sums);

}  // namespace headlight::kernels
