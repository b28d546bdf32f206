#include "headlight/ops/matmul.h"

#include "headlight/ops/layout.h"
#include "headlight/ops/reduce.h"
#include "kernels/gemm/gemm.h"
#include "ops/common.h"

namespace headlight {
namespace {

// An operand in BLAS's layout: each matrix has stride 1 along one of its two axes.
struct Matrices {
  Tensor tensor;
  Index stride = 0;
  bool transposed = false;
};

Matrices blas_layout(const Tensor& x) {
  const Index rows = x.size(-2);
  const Index columns = x.size(-1);
  const Index row_stride = x.strides()[x.rank() - 2];
  const Index column_stride = x.strides()[x.rank() - 1];
  if ((column_stride == 1 || columns == 1) && (row_stride >= columns || rows == 1)) {
    return {x, std::max({row_stride, columns, Index{1}}), false};
  }
  if ((row_stride == 1 || rows == 1) && (column_stride >= rows || columns == 1)) {
    return {x, std::max({column_stride, rows, Index{1}}), true};
  }
  const Tensor copy = x.clone();
  return {copy, std::max<Index>(columns, 1), false};
}

Shape without_matrix(const Shape& shape) {
  Shape batch = shape;
  batch.erase(batch.rank() - 1);
  batch.erase(batch.rank() - 1);
  return batch;
}

// Returns the element offsets of all matrices of a and b, with leading axes broadcast to `batch`.
StridedRows<2> matrix_offsets(const Tensor& a, const Tensor& b, const Shape& batch) {
  const auto strides = [&](const Tensor& x) {
    Shape result = Shape::filled(batch.rank(), 0);
    for (Index back = 3; back <= x.rank(); ++back) {
      const Index axis = x.rank() - back;
      result[batch.rank() - (back - 2)] = x.shape()[axis] == 1 ? 0 : x.strides()[axis];
    }
    return result;
  };
  return StridedRows<2>(batch, {strides(a), strides(b)});
}

template <class T>
void multiply(const Matrices& a, const Matrices& b, const Shape& batch, Tensor& c) {
  const Index m = c.size(-2);
  const Index n = c.size(-1);
  const kernels::Gemm<T> whole{.m = m,
                               .n = n,
                               .k = a.tensor.size(-1),
                               .a = a.tensor.data<T>(),
                               .a_stride = a.stride,
                               .transpose_a = a.transposed,
                               .b = b.tensor.data<T>(),
                               .b_stride = b.stride,
                               .transpose_b = b.transposed,
                               .c = c.data<T>(),
                               .c_stride = std::max<Index>(n, 1)};
  const Index count = numel(batch);
  if (count == 1) {
    kernels::gemm(whole);
    return;
  }
  const StridedRows<2> offsets = matrix_offsets(a.tensor, b.tensor, batch);
  kernels::parallel_for(count, 1, [&](Index matrix, Index) {
    const Index row = matrix / offsets.length;
    const Index column = matrix - row * offsets.length;
    const auto start = offsets.start(row);
    kernels::Gemm<T> one = whole;
    one.a += start[0] + column * offsets.step[0];
    one.b += start[1] + column * offsets.step[1];
    one.c += matrix * m * n;
    kernels::gemm(one);  // on this thread, as every nested loop
  });
}

// Requires operands with at least two axes.
Tensor multiply_matrices(const Tensor& a, const Tensor& b) {
  require(a.size(-1) == b.size(-2), "[matmul] inner sizes differ: a ", a.shape(), ", b ",
          b.shape());
  const Shape batch =
      broadcast_shapes(without_matrix(a.shape()), without_matrix(b.shape()), "matmul");
  Shape shape = batch;
  shape.push_back(a.size(-2));
  shape.push_back(b.size(-1));
  Tensor value = Tensor::empty(shape, a.dtype());
  dispatch_floating(a.dtype(), "matmul", [&](auto zero) {
    multiply<decltype(zero)>(blas_layout(a), blas_layout(b), batch, value);
  });
  return record("matmul", value, {a, b}, [](auto inputs, const Tensor& grad) {
    std::vector<Tensor> gradients(2);
    if (inputs[0].requires_grad()) {
      gradients[0] = sum_to_shape(multiply_matrices(grad, transpose(inputs[1])), inputs[0].shape());
    }
    if (inputs[1].requires_grad()) {
      gradients[1] = sum_to_shape(multiply_matrices(transpose(inputs[0]), grad), inputs[1].shape());
    }
    return gradients;
  });
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  require(a.defined() && b.defined() && a.rank() > 0 && b.rank() > 0,
          "[matmul] expected operands with at least one axis");
  require_same_type(a, b, "matmul");
  if (a.rank() == 1) {
    const Tensor product = matmul(reshape(a, {1, a.numel()}), b);
    Shape shape = product.shape();
    shape.erase(shape.rank() - (b.rank() == 1 ? 1 : 2));
    return reshape(product, shape);
  }
  if (b.rank() == 1) {
    const Tensor product = matmul(a, reshape(b, {b.numel(), 1}));
    Shape shape = product.shape();
    shape.erase(shape.rank() - 1);
    return reshape(product, shape);
  }
  // A single matrix on the right allows one large product for all rows on the left.
  if (a.rank() > 2 && b.rank() == 2 && a.size(-1) == b.size(0) && a.size(-1) > 0) {
    const Tensor flat = reshape(a, {-1, a.size(-1)});
    Shape shape = a.shape();
    shape[shape.rank() - 1] = b.size(-1);
    return reshape(multiply_matrices(flat, b), shape);
  }
  return multiply_matrices(a, b);
}

}  // namespace headlight
