#include "headlight/ops/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headlight/ops/layout.h"
#include "ops/common.h"

namespace headlight {
namespace {

// Calls body(row of `to`, row of `from`, length) for all rows, in parallel. Both are contiguous.
template <class Body>
void for_rows(Tensor& to, const Tensor& from, std::string_view where, const Body& body) {
  const Index length = to.size(-1);
  dispatch_floating(to.dtype(), where, [&](auto zero) {
    using T = decltype(zero);
    T* target = to.data<T>();
    const T* source = from.data<T>();
    kernels::parallel_for(length == 0 ? 0 : to.numel() / length, kernels::row_grain(length),
                          [&](Index begin, Index end) {
                            for (Index row = begin; row < end; ++row) {
                              body(target + row * length, source + row * length, length);
                            }
                          });
  });
}

// Turns a row of scores into probabilities; a row of only -infinity becomes zeros.
template <class T>
void softmax_row(T* row, Index length) {
  const T highest = kernels::loops<T>().maximum(row, length);
  const auto hidden = [](T score) { return score == -std::numeric_limits<T>::infinity(); };
  // The maximum of a row of NaN is -infinity, too, as comparisons with NaN are false. Such a row is
  // not hidden and must stay NaN.
  if (hidden(highest) && std::all_of(row, row + length, hidden)) {
    std::fill(row, row + length, T{0});
    return;
  }
  const T total = kernels::loops<T>().exp_shifted(row, highest, length);
  kernels::loops<T>().scale(T{1} / total, row, length);
}

// Works in place, over the last axis of contiguous scores.
void softmax_rows(Tensor& scores) {
  for_rows(scores, scores, "softmax",
           []<class T>(T* row, const T*, Index length) { softmax_row(row, length); });
}

// Returns probability * (grad - sum(probability * grad)), row by row.
Tensor softmax_gradient(const Tensor& probability, const Tensor& output_grad) {
  Tensor result = output_grad.clone();
  for_rows(result, probability, "softmax", []<class T>(T* g, const T* p, Index length) {
    const T delta = kernels::loops<T>().dot(p, g, length);
    kernels::loops<T>().softmax_backward(p, g, delta, T{1}, length);
  });
  return result;
}

void check_axis(const Tensor& x, std::string_view where) {
  require(x.defined() && x.rank() > 0, "[", where, "] expected an input with at least one axis");
}

Tensor log_softmax_last(const Tensor& x) {
  Tensor value = x.clone();
  for_rows(value, to_contiguous(x), "log_softmax",
           []<class T>(T* row, const T* scores, Index length) {
             const T highest = kernels::loops<T>().maximum(row, length);
             const T total = kernels::loops<T>().exp_shifted(row, highest, length);
             const T shift = highest + std::log(total);
             for (Index i = 0; i < length; ++i) {
               row[i] = scores[i] - shift;
             }
           });
  return value;
}

// Returns grad - softmax * sum(grad), row by row.
Tensor log_softmax_gradient(const Tensor& value, const Tensor& output_grad) {
  Tensor result = value.clone();
  for_rows(result, to_contiguous(output_grad), "log_softmax",
           []<class T>(T* row, const T* g, Index length) {
             kernels::loops<T>().exp(row, row, length);
             T total = 0;
             for (Index i = 0; i < length; ++i) {
               total += g[i];
             }
             for (Index i = 0; i < length; ++i) {
               row[i] = g[i] - row[i] * total;
             }
           });
  return result;
}

}  // namespace

Tensor softmax(const Tensor& x, Index axis) {
  check_axis(x, "softmax");
  const Index last = x.rank() - 1;
  if (normalize_axis(axis, x.rank(), "softmax") != last) {
    return transpose(softmax(transpose(x, axis, last), last), axis, last);
  }
  Tensor value = x.clone();
  softmax_rows(value);
  return record_with_output("softmax", value, x, softmax_gradient);
}

Tensor log_softmax(const Tensor& x, Index axis) {
  check_axis(x, "log_softmax");
  const Index last = x.rank() - 1;
  if (normalize_axis(axis, x.rank(), "log_softmax") != last) {
    return transpose(log_softmax(transpose(x, axis, last), last), axis, last);
  }
  const Tensor value = log_softmax_last(x);
  return record_with_output("log_softmax", value, x, log_softmax_gradient);
}

Tensor masked_softmax(const Tensor& x, const Tensor& mask) {
  check_axis(x, "masked_softmax");
  require_mask(mask, x, "masked_softmax");
  Tensor value = fill_where(x, mask, -std::numeric_limits<double>::infinity(), "masked_softmax");
  softmax_rows(value);
  return record_with_output("masked_softmax", value, x, softmax_gradient);
}

}  // namespace headlight
