#include "headlight/ops/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"
#include "kernels/loops.h"
#include "ops/common.h"

namespace headlight {
namespace {

// Calls body(row) for every row of `length` elements, in parallel.
template <class Body>
void for_rows(Index count, Index length, const Body& body) {
  kernels::parallel_for(count, kernels::row_grain(length), [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) {
      body(row);
    }
  });
}

Index row_count(const Tensor& x) { return x.size(-1) == 0 ? 0 : x.numel() / x.size(-1); }

// Turns a row of scores into probabilities; a row of only -infinity becomes zeros.
template <class T>
void softmax_row(T* row, Index length) {
  const T highest = kernels::loops<T>().maximum(row, length);
  const auto hidden = [](T score) { return score == -std::numeric_limits<T>::infinity(); };
  // Comparisons with NaN are false, so rows of NaN need their own check to stay NaN.
  if (hidden(highest) && std::all_of(row, row + length, hidden)) {
    std::fill(row, row + length, T{0});
    return;
  }
  const T total = kernels::loops<T>().exp_shifted(row, highest, length);
  kernels::loops<T>().scale(T{1} / total, row, length);
}

// Works in place, over the last axis of contiguous scores.
void softmax_rows(Tensor& scores) {
  const Index length = scores.size(-1);
  dispatch_floating(scores.dtype(), "softmax", [&](auto zero) {
    using T = decltype(zero);
    T* values = scores.data<T>();
    for_rows(row_count(scores), length,
             [&](Index row) { softmax_row(values + row * length, length); });
  });
}

// Returns probability * (grad - sum(probability * grad)), row by row.
Tensor softmax_gradient(const Tensor& probability, const Tensor& output_grad) {
  Tensor result = output_grad.clone();
  const Index length = probability.size(-1);
  dispatch_floating(result.dtype(), "softmax", [&](auto zero) {
    using T = decltype(zero);
    const T* p = probability.data<T>();
    T* g = result.data<T>();
    for_rows(row_count(result), length, [&](Index row) {
      const T delta = kernels::loops<T>().dot(p + row * length, g + row * length, length);
      kernels::loops<T>().softmax_backward(p + row * length, g + row * length, delta, T{1}, length);
    });
  });
  return result;
}

void check_axis(const Tensor& x, std::string_view where) {
  require(x.defined() && x.rank() > 0, "[", where, "] expected an input with at least one axis");
}

Tensor log_softmax_last(const Tensor& x) {
  const Tensor from = to_contiguous(x);
  Tensor value = x.clone();
  const Index length = x.size(-1);
  dispatch_floating(x.dtype(), "log_softmax", [&](auto zero) {
    using T = decltype(zero);
    const T* scores = from.data<T>();
    T* values = value.data<T>();
    for_rows(row_count(value), length, [&](Index index) {
      const T* source = scores + index * length;
      T* row = values + index * length;
      const T highest = kernels::loops<T>().maximum(row, length);
      const T total = kernels::loops<T>().exp_shifted(row, highest, length);
      const T shift = highest + std::log(total);
      for (Index i = 0; i < length; ++i) {
        row[i] = source[i] - shift;
      }
    });
  });
  return value;
}

// Returns grad - softmax * sum(grad), row by row.
Tensor log_softmax_gradient(const Tensor& value, const Tensor& output_grad) {
  const Tensor from = to_contiguous(output_grad);
  Tensor result = Tensor::empty(value.shape(), value.dtype());
  const Index length = value.size(-1);
  dispatch_floating(result.dtype(), "log_softmax", [&](auto zero) {
    using T = decltype(zero);
    const T* log_p = value.data<T>();
    const T* gradients = from.data<T>();
    T* to = result.data<T>();
    for_rows(row_count(result), length, [&](Index row) {
      const T* g = gradients + row * length;
      T* result_row = to + row * length;
      kernels::loops<T>().exp(log_p + row * length, result_row, length);
      T total = 0;
      for (Index i = 0; i < length; ++i) {
        total += g[i];
      }
      for (Index i = 0; i < length; ++i) {
        result_row[i] = g[i] - result_row[i] * total;
      }
    });
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
  return record("softmax", value, {x},
                [value = SavedTensor("softmax", "output", value)](auto, const Tensor& grad) {
                  return std::vector<Tensor>{softmax_gradient(value, grad)};
                });
}

Tensor log_softmax(const Tensor& x, Index axis) {
  check_axis(x, "log_softmax");
  const Index last = x.rank() - 1;
  if (normalize_axis(axis, x.rank(), "log_softmax") != last) {
    return transpose(log_softmax(transpose(x, axis, last), last), axis, last);
  }
  const Tensor value = log_softmax_last(x);
  return record("log_softmax", value, {x},
                [value = SavedTensor("log_softmax", "output", value)](auto, const Tensor& grad) {
                  return std::vector<Tensor>{log_softmax_gradient(value, grad)};
                });
}

Tensor masked_softmax(const Tensor& x, const Tensor& mask) {
  check_axis(x, "masked_softmax");
  require_mask(mask, x, "masked_softmax");
  Tensor value = fill_where(x, mask, -std::numeric_limits<double>::infinity(), "masked_softmax");
  softmax_rows(value);
  return record("masked_softmax", value, {x},
                [value = SavedTensor("masked_softmax", "output", value)](auto, const Tensor& grad) {
                  return std::vector<Tensor>{softmax_gradient(value, grad)};
                });
}

}  // namespace headlight
