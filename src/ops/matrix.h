#pragma once

#include "headlight/tensor/tensor.h"
#include "kernels/gemm/gemm.h"

// Contiguous row-major matrices, for ops that call kernels::gemm.
namespace headlight {

template <class T>
struct Matrix {
  T* data = nullptr;
  Index rows = 0;
  Index columns = 0;

  Matrix row_range(Index first, Index last) const {
    return {data + first * columns, last - first, columns};
  }
  operator Matrix<const T>() const { return {data, rows, columns}; }
};

// Views x as a matrix: all axes but the last form the rows. x must be contiguous.
template <class T>
Matrix<T> matrix_of(Tensor& x) {
  return {x.data<T>(), x.size(-1) == 0 ? 0 : x.numel() / x.size(-1), x.size(-1)};
}
template <class T>
Matrix<const T> matrix_of(const Tensor& x) {
  return {x.data<T>(), x.size(-1) == 0 ? 0 : x.numel() / x.size(-1), x.size(-1)};
}

enum class Transposed { none, first, second };

struct ProductOptions {
  Transposed transposed = Transposed::none;  // the operand to transpose
  Precision precision = Precision::float32;
};

// Returns the product c = a b, with the operand of the options transposed.
template <class T>
kernels::Gemm<T> product_of(const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c,
                            const ProductOptions& options = {}) {
  const Transposed transposed = options.transposed;
  return {.m = c.rows,
          .n = c.columns,
          .k = transposed == Transposed::first ? a.rows : a.columns,
          .a = a.data,
          .a_stride = std::max<Index>(a.columns, 1),
          .transpose_a = transposed == Transposed::first,
          .b = b.data,
          .b_stride = std::max<Index>(b.columns, 1),
          .transpose_b = transposed == Transposed::second,
          .c = c.data,
          .c_stride = std::max<Index>(c.columns, 1),
          .precision = options.precision};
}

}  // namespace headlight
