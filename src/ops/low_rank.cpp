#include "headlight/ops/low_rank.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/dropout.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "ops/common.h"
#include "ops/matrix.h"

namespace headlight {
namespace {

// Checks an update of a matrix [O, I] = `shape`.
void check_update(const LowRankUpdate& update, const Shape& shape, DType dtype) {
  require(update.a.defined() && update.a.rank() == 2 && update.b.defined() &&
              update.b.rank() == 2 && shape.rank() == 2,
          "[low_rank_linear] expected a weight and updates with two axes");
  require(update.a.dtype() == dtype && update.b.dtype() == dtype,
          "[low_rank_linear] types differ: ", update.a.dtype(), ", ", update.b.dtype(), " and ",
          dtype);
  const Index rows = update.b.size(0);
  require(update.a.size(1) == shape[1] && update.a.size(0) == update.b.size(1) &&
              update.first_row >= 0 && update.first_row + rows <= shape[0],
          "[low_rank_linear] update ", update.b.shape(), " x ", update.a.shape(), " at row ",
          update.first_row, " does not fit weight ", shape);
  require(!update.lengths.defined() || update.lengths.shape() == Shape{rows},
          "[low_rank_linear] expected lengths of ", rows, " rows, got ", update.lengths.shape());
}

// One update during forward and backward of low_rank_linear().
struct Change {
  Index first_row;
  Index rows;   // P
  Index width;  // R
  double scale;
  LowRankDropout dropout;
};

// Returns x as contiguous rows [N, I], after the dropout.
Tensor dropped_rows(const Tensor& x, const Shape& flat, const Change& change) {
  const Tensor rows = reshape(to_contiguous(x.detach()), flat);
  return dropout(rows, change.dropout.probability, change.dropout.random);
}

// Columns of a contiguous matrix.
template <class T>
struct Columns {
  T* data;
  Index stride;
};

template <class T>
Columns<T> columns_of(Tensor& rows, const Change& change) {
  return {rows.data<T>() + change.first_row, rows.size(1)};
}
template <class T>
Columns<const T> columns_of(const Tensor& rows, const Change& change) {
  return {rows.data<T>() + change.first_row, rows.size(1)};
}

// Returns scale x a^T, [N, R].
template <class T>
Tensor reduced(const Tensor& x, const Tensor& a, const Change& change) {
  Tensor inner = Tensor::empty({x.size(0), change.width}, x.dtype());
  auto product =
      product_of<T>(matrix_of<T>(x), matrix_of<T>(a), matrix_of<T>(inner), {Transposed::second});
  product.alpha = static_cast<T>(change.scale);
  kernels::gemm(product);
  return inner;
}

// Adds inner b^T, [N, P], to the change's columns of `value` [N, O].
template <class T>
void add_expanded(const Tensor& inner, const Tensor& b, const Change& change, Tensor& value) {
  const Columns<T> to = columns_of<T>(value, change);
  kernels::gemm<T>({.m = inner.size(0),
                    .n = change.rows,
                    .k = change.width,
                    .a = inner.data<T>(),
                    .a_stride = change.width,
                    .b = b.data<T>(),
                    .b_stride = change.width,
                    .transpose_b = true,
                    .c = to.data,
                    .c_stride = to.stride,
                    .beta = 1});
}

struct ChangeGradients {
  Tensor a;
  Tensor b;
  Tensor x;  // [N, I], of the input after the dropout
};

// Computes the gradients of a change from the gradient [N, O] of the output. x is the input after
// the dropout.
template <class T>
ChangeGradients differentiate(const Tensor& grad, const Tensor& x, const Tensor& a, const Tensor& b,
                              const Change& change) {
  const Columns<const T> from = columns_of<T>(grad, change);
  const Tensor inner = reduced<T>(x, a, change);                    // [N, R]
  Tensor inner_grad = Tensor::empty(inner.shape(), inner.dtype());  // [N, R]
  ChangeGradients result{Tensor::empty(a.shape(), a.dtype()), Tensor::empty(b.shape(), b.dtype()),
                         Tensor::empty(x.shape(), x.dtype())};
  kernels::gemm<T>({.m = x.size(0),
                    .n = change.width,
                    .k = change.rows,
                    .a = from.data,
                    .a_stride = from.stride,
                    .b = b.data<T>(),
                    .b_stride = change.width,
                    .c = inner_grad.data<T>(),
                    .c_stride = change.width,
                    .alpha = static_cast<T>(change.scale)});
  kernels::gemm<T>({.m = change.rows,
                    .n = change.width,
                    .k = x.size(0),
                    .a = from.data,
                    .a_stride = from.stride,
                    .transpose_a = true,
                    .b = inner.data<T>(),
                    .b_stride = change.width,
                    .c = result.b.data<T>(),
                    .c_stride = change.width});
  const Matrix<const T> inner_rows = matrix_of<T>(std::as_const(inner_grad));
  kernels::gemm(
      product_of<T>(inner_rows, matrix_of<T>(x), matrix_of<T>(result.a), {Transposed::first}));
  kernels::gemm(product_of<T>(inner_rows, matrix_of<T>(a), matrix_of<T>(result.x)));
  return result;
}

// Returns the gradients of the product with the weight, of x, and of a and b of each change.
template <class T>
std::vector<Tensor> input_gradients(std::span<const SavedTensor> in, const Tensor& grad,
                                    const std::vector<Change>& changes, const Shape& flat) {
  const Tensor whole = to_contiguous(grad);
  const Tensor rows = reshape(whole, {flat[0], grad.size(-1)});  // [N, O]
  std::vector<Tensor> gradients{whole, {}};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    const Tensor& a = in[2 + 2 * i];
    const Tensor& b = in[3 + 2 * i];
    ChangeGradients of = differentiate<T>(rows, dropped_rows(in[1], flat, change), to_contiguous(a),
                                          to_contiguous(b), change);
    const Tensor x = dropout(of.x, change.dropout.probability, change.dropout.random);
    gradients[1] = gradients[1].defined() ? gradients[1] + x : x;
    gradients.insert(gradients.end(), {of.a, of.b});
  }
  gradients[1] = gradients[1].defined() ? reshape(gradients[1], in[1].shape()) : Tensor();
  return gradients;
}

bool has_lengths(const LowRankUpdate& update) { return update.lengths.defined(); }

// Returns the rows of a weight that an update changes, with the change.
Tensor changed_rows(const Tensor& weight, const LowRankUpdate& update) {
  const Tensor before = slice(weight, 0, update.first_row, update.first_row + update.b.size(0));
  return before + matmul(update.b, update.a) * update.scale;
}

// Returns the lengths [P] of these rows, as constants.
Tensor lengths_before(const Tensor& weight, const LowRankUpdate& update) {
  const NoGrad no_grad;
  return row_lengths(changed_rows(weight, update));
}

// Returns a tensor [O, ...] with other values where an update changes it.
Tensor with_rows(const Tensor& whole, const LowRankUpdate& update, const Tensor& rows) {
  const Index end = update.first_row + rows.size(0);
  std::vector<Tensor> parts{rows};
  if (update.first_row > 0) {
    parts.insert(parts.begin(), slice(whole, 0, 0, update.first_row));
  }
  if (end < whole.size(0)) {
    parts.push_back(slice(whole, 0, end, whole.size(0)));
  }
  return concat(parts, 0);
}

}  // namespace

Tensor low_rank_linear(const Tensor& product, const Tensor& x,
                       std::span<const LowRankUpdate> updates, const LowRankDropout& dropout) {
  require(x.defined() && x.rank() >= 1 && x.size(-1) > 0,
          "[low_rank_linear] expected an input with a last axis that is not empty");
  std::vector<Change> changes;
  std::vector<Tensor> inputs{product, x};
  for (const LowRankUpdate& update : updates) {
    check_update(update, {product.size(-1), x.size(-1)}, x.dtype());
    inputs.insert(inputs.end(), {update.a, update.b});
    changes.push_back({.first_row = update.first_row,
                       .rows = update.b.size(0),
                       .width = update.b.size(1),
                       .scale = update.scale,
                       .dropout = {dropout.probability, dropout.random.fork(changes.size())}});
  }
  Tensor value = product.detach();
  const Shape flat{x.numel() / x.size(-1), x.size(-1)};
  dispatch_floating(x.dtype(), "low_rank_linear", [&](auto zero) {
    using T = decltype(zero);
    Tensor rows = reshape(value, {flat[0], product.size(-1)});
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const Tensor dropped = dropped_rows(x, flat, changes[i]);
      add_expanded<T>(reduced<T>(dropped, to_contiguous(updates[i].a.detach()), changes[i]),
                      to_contiguous(updates[i].b.detach()), changes[i], rows);
    }
  });
  return record("low_rank_linear", value, std::move(inputs),
                [changes, flat](auto in, const Tensor& grad) {
                  return dispatch_floating(grad.dtype(), "low_rank_linear", [&](auto zero) {
                    return input_gradients<decltype(zero)>(in, grad, changes, flat);
                  });
                });
}

Tensor low_rank_linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       std::span<const LowRankUpdate> updates, const LowRankDropout& dropout,
                       Precision precision) {
  const Tensor product = low_rank_linear(linear(x, weight, bias, precision), x, updates, dropout);
  return with_row_lengths(product, weight, bias, updates);
}

Tensor with_row_lengths(const Tensor& product, const Tensor& weight, const Tensor& bias,
                        std::span<const LowRankUpdate> updates) {
  if (std::ranges::none_of(updates, has_lengths)) {
    return product;
  }
  Tensor factors = Tensor::ones({product.size(-1)}, product.dtype());
  for (const LowRankUpdate& update : updates) {
    if (has_lengths(update)) {
      factors = with_rows(factors, update, update.lengths / lengths_before(weight, update));
    }
  }
  return bias.defined() ? (product - bias) * factors + bias : product * factors;
}

Tensor updated_weight(const Tensor& weight, std::span<const LowRankUpdate> updates) {
  Tensor result = weight;
  for (const LowRankUpdate& update : updates) {
    check_update(update, weight.shape(), weight.dtype());
    Tensor rows = changed_rows(result, update);
    if (has_lengths(update)) {
      rows = rows * reshape(update.lengths / row_lengths(rows.detach()), {rows.size(0), 1});
    }
    result = with_rows(result, update, rows);
  }
  return result;
}

Tensor row_lengths(const Tensor& matrix) { return sqrt(sum(matrix * matrix, {.axes = {1}})); }

}  // namespace headlight
