#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include "headlight/autograd/autograd.h"
#include "headlight/kernels/precision.h"
#include "headlight/tensor/strided.h"
#include "headlight/tensor/tensor.h"
#include "kernels/loops.h"
#include "kernels/threads/parallel.h"

// Helpers of several ops.
namespace headlight {

inline void require_same_type(const Tensor& a, const Tensor& b, std::string_view where) {
  require(a.dtype() == b.dtype(), "[", where, "] types differ: ", a.dtype(), " and ", b.dtype());
}

inline void require_type(const Tensor& x, DType dtype, std::string_view where,
                         std::string_view argument) {
  require(x.defined() && x.dtype() == dtype, "[", where, "] ", argument, ": expected ", dtype,
          ", got ", x.defined() ? name_of(x.dtype()) : "an undefined tensor");
}

inline void require_shape(const Tensor& x, const Shape& shape, std::string_view where,
                          std::string_view argument) {
  require(x.shape() == shape, "[", where, "] ", argument, ": expected shape ", shape, ", got ",
          x.shape());
}

// Throws Error unless a soft cap is 0 (none) or positive.
inline void require_cap(double cap, std::string_view where) {
  require(cap >= 0 && cap <= 1e30, "[", where, "] cap: expected 0 or a positive number, got ", cap);
}

// Throws Error unless the mask is boolean, with the remedy for a mask of numbers.
inline void require_mask_type(const Tensor& mask, std::string_view where,
                              std::string_view argument) {
  require(!mask.defined() || mask.dtype() == DType::boolean, "[", where, "] ", argument,
          ": expected bool (true hides), got ", mask.dtype(),
          "; use equal(mask, 0) if 0 hides, or equal(mask, 1) if 1 hides");
  require_type(mask, DType::boolean, where, argument);
}

// Throws Error unless the mask is boolean and broadcasts to x.
inline void require_mask(const Tensor& mask, const Tensor& x, std::string_view where) {
  require_mask_type(mask, where, "mask");
  require(broadcast_shapes(x.shape(), mask.shape(), where) == x.shape(), "[", where, "] mask ",
          mask.shape(), " does not broadcast to ", x.shape());
}

// Returns x as a view of a larger shape, without gradient; broadcast axes get stride 0.
inline Tensor broadcast_view(const Tensor& x, const Shape& shape) {
  Shape strides = Shape::filled(shape.rank(), 0);
  for (Index back = 1; back <= x.rank(); ++back) {
    const Index from = x.rank() - back;
    strides[shape.rank() - back] = x.shape()[from] == 1 ? 0 : x.strides()[from];
  }
  return x.strided_view(shape, strides);
}

// Calls body(starts, first, last) for pieces of rows, in parallel: for elements [first, last) of
// the row whose operands start at `starts`.
template <std::size_t N, class Body>
void parallel_rows(const StridedRows<N>& rows, const Body& body) {
  const Index count = rows.count * rows.length;
  kernels::parallel_for(count, kernels::kElementGrain, [&](Index begin, Index end) {
    for (Index position = begin; position < end;) {
      const Index row = position / rows.length;
      const Index first = position - row * rows.length;
      const Index last = std::min(rows.length, first + (end - position));
      body(rows.start(row), first, last);
      position += last - first;
    }
  });
}

// Returns whether an op with this precision multiplies x as bfloat16. Its gradient may then read a
// copy of x in bfloat16: rounding again changes no bit.
inline bool is_rounded(const Tensor& x, Precision precision) {
  return precision == Precision::bfloat16 && x.dtype() == DType::float32;
}

// Returns contiguous x [...] in bfloat16 or, for x in bfloat16, in float32, on all threads.
inline Tensor converted_bfloat16(const Tensor& x, DType dtype) {
  Tensor result = Tensor::empty(x.shape(), dtype);
  kernels::parallel_for(x.numel(), kernels::kElementGrain, [&](Index begin, Index end) {
    const auto& loops = kernels::loops<float>();
    if (dtype == DType::bfloat16) {
      loops.to_bfloat16(x.data<float>() + begin, &result.data<BFloat16>()[begin].bits, end - begin);
    } else {
      loops.from_bfloat16(&x.data<BFloat16>()[begin].bits, result.data<float>() + begin,
                          end - begin);
    }
  });
  return result;
}

// Records an op whose gradient is a function of its output: gradient(output, output_grad).
template <class Gradient>
Tensor record_with_output(const char* op, const Tensor& value, const Tensor& x, Gradient gradient) {
  return record_shapes(
      op, value, {x},
      [output = SavedTensor(op, "output", value), gradient](auto, const Tensor& grad) {
        return std::vector<Tensor>{gradient(output.get(), grad)};
      });
}

// Returns a new tensor with f applied to every element of x.
template <class T, class F>
Tensor map_elements(const Tensor& x, F f) {
  Tensor result = Tensor::empty(x.shape(), x.dtype());
  const StridedRows<2> rows(x.shape(), {result.strides(), x.strides()});
  const T* from = x.data<T>();
  T* to = result.data<T>();
  parallel_rows(rows, [&](const auto& start, Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      to[start[0] + i * rows.step[0]] = f(from[start[1] + i * rows.step[1]]);
    }
  });
  return result;
}

// Returns a new tensor: a vectorised loop applied to operands of equal shape and type.
// choose(loops) selects the loop, such as loops.exp or loops.add.
template <class Choose, class... Operands>
Tensor map_with_loop(std::string_view where, Choose choose, const Tensor& x,
                     const Operands&... more) {
  require(x.defined(), "[", where, "] the input is undefined");
  const std::array<Tensor, 1 + sizeof...(more)> from{to_contiguous(x), to_contiguous(more)...};
  Tensor result = Tensor::empty(x.shape(), x.dtype());
  dispatch_floating(x.dtype(), where, [&](auto zero) {
    using T = decltype(zero);
    const auto loop = choose(kernels::loops<T>());
    T* to = result.data<T>();
    kernels::parallel_for(result.numel(), kernels::kElementGrain, [&](Index begin, Index end) {
      std::apply(
          [&](const auto&... operand) {
            loop(operand.template data<T>() + begin..., to + begin, end - begin);
          },
          from);
    });
  });
  return result;
}

// Returns a new tensor with f(a, b) for every pair. A, B and R are the element types of both
// operands and of the result. Both operands must be broadcast to one shape already.
template <class A, class B, class R = A, class F>
Tensor map_pairs(const Tensor& a, const Tensor& b, F f) {
  Tensor result = Tensor::empty(a.shape(), dtype_of<R>());
  const StridedRows<3> rows(a.shape(), {result.strides(), a.strides(), b.strides()});
  const A* from_a = a.data<A>();
  const B* from_b = b.data<B>();
  R* to = result.data<R>();
  parallel_rows(rows, [&](const auto& start, Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      to[start[0] + i * rows.step[0]] =
          f(from_a[start[1] + i * rows.step[1]], from_b[start[2] + i * rows.step[2]]);
    }
  });
  return result;
}

// Returns x with `value` where the mask, which broadcasts to x, is true.
inline Tensor fill_where(const Tensor& x, const Tensor& mask, double value,
                         std::string_view where) {
  return dispatch_floating(x.dtype(), where, [&](auto zero) {
    using T = decltype(zero);
    return map_pairs<T, bool>(x, broadcast_view(mask, x.shape()),
                              [initialisation = static_cast<T>(value)](T kept, bool hidden) {
                                return hidden ? initialisation : kept;
                              });
  });
}

}  // namespace headlight
