#include "headlight/ops/indexing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "headlight/ops/layout.h"
#include "ops/common.h"

namespace headlight {
namespace {

// Returns the indices of the k largest elements along an axis, largest first.
Tensor largest_indices(const Tensor& x, Index k, Index axis) {
  const Tensor lines = to_contiguous(transpose(convert(x.detach(), DType::float64), axis, -1));
  const Index size = lines.size(-1);
  Shape shape = lines.shape();
  shape[shape.rank() - 1] = k;
  Tensor found = Tensor::empty(shape, DType::int32);
  const Index count = k > 0 ? found.numel() / k : 0;
  kernels::parallel_for(count, kernels::row_grain(size), [&](Index begin, Index end) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(size));
    for (Index line = begin; line < end; ++line) {
      const double* values = lines.data<double>() + line * size;
      const auto is_larger = [](double a, double b) {
        return a > b || (std::isnan(a) && !std::isnan(b));
      };
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(
          order.begin(), order.begin() + k, order.end(), [&](std::int32_t a, std::int32_t b) {
            return is_larger(values[a], values[b]) || (a < b && !is_larger(values[b], values[a]));
          });
      std::copy_n(order.begin(), k, found.data<std::int32_t>() + line * k);
    }
  });
  return contiguous(transpose(found, axis, -1));
}

void check_axis_size(Index size, const char* op) {
  require(size <= std::numeric_limits<std::int32_t>::max(), "[", op, "] ", size,
          " elements are too many for int32 indices");
}

void check_gather(const Tensor& x, Index axis, const Tensor& indices) {
  require_type(indices, DType::int32, "gather", "indices");
  require(indices.rank() == x.rank(), "[gather] expected indices with as many axes as ", x.shape(),
          ", got ", indices.shape());
  for (Index other = 0; other < x.rank(); ++other) {
    require(other == axis || indices.size(other) <= x.size(other), "[gather] indices ",
            indices.shape(), " are longer than ", x.shape(), " along axis ", other);
  }
  const Tensor flat = to_contiguous(indices);
  const std::int32_t* values = flat.data<std::int32_t>();
  for (Index i = 0; i < flat.numel(); ++i) {
    require(values[i] >= 0 && values[i] < x.size(axis), "[gather] index ", values[i],
            " is out of range for axis ", axis, " of shape ", x.shape());
  }
}

// Calls visit(to, from) with the offset of each index, and of the element of a tensor with
// `strides` that the index selects.
template <class Visit>
void for_each_selected(const Tensor& indices, const Shape& strides, Index axis, Visit visit) {
  Shape others = strides;
  others[axis] = 0;
  const Shape in_order = contiguous_strides(indices.shape());
  const StridedRows<3> rows(indices.shape(), {in_order, indices.strides(), others});
  const std::int32_t* index = indices.data<std::int32_t>();
  for (Index row = 0; row < (indices.numel() == 0 ? 0 : rows.count); ++row) {
    const auto start = rows.start(row);
    for (Index i = 0; i < rows.length; ++i) {
      const Index selected = index[start[1] + i * rows.step[1]];
      visit(start[0] + i * rows.step[0], start[2] + i * rows.step[2] + selected * strides[axis]);
    }
  }
}

// Adds each element of grad to the element of a tensor of `shape` that its index selects, in
// row-major order.
Tensor scatter_sum(const Tensor& grad, const Shape& shape, Index axis, const Tensor& indices) {
  const Tensor from = to_contiguous(grad);
  Tensor sum = Tensor::zeros(shape, grad.dtype());
  dispatch_floating(grad.dtype(), "gather", [&](auto zero) {
    using T = decltype(zero);
    const T* gradients = from.data<T>();
    T* sums = sum.data<T>();
    for_each_selected(indices, sum.strides(), axis,
                      [&](Index given, Index selected) { sums[selected] += gradients[given]; });
  });
  return sum;
}

}  // namespace

Tensor argmax(const Tensor& x, std::optional<Index> axis_given, bool keepdim) {
  require(x.defined(), "[argmax] the input is undefined");
  if (!axis_given) {
    const Tensor index = argmax(reshape(x.detach(), {-1}), 0);
    return keepdim ? reshape(index, Shape::filled(x.rank(), 1)) : index;
  }
  const Index axis = normalize_axis(*axis_given, x.rank(), "argmax");
  check_axis_size(x.size(axis), "argmax");
  Shape kept = x.shape();
  kept[axis] = 1;
  require(x.size(axis) > 0 || numel(kept) == 0, "[argmax] nothing to choose from: shape ",
          x.shape());
  const Tensor index =
      x.numel() == 0 ? Tensor::empty(kept, DType::int32) : largest_indices(x, 1, axis);
  return keepdim ? index : select(index, axis, 0);
}

TopK topk(const Tensor& x, Index k, Index axis_given) {
  require(x.defined(), "[topk] the input is undefined");
  const Index axis = normalize_axis(axis_given, x.rank(), "topk");
  check_axis_size(x.size(axis), "topk");
  require(k >= 0 && k <= x.size(axis), "[topk] expected k from 0 to ", x.size(axis), ", got ", k);
  const Tensor indices = largest_indices(x, k, axis);
  return {gather(x, axis, indices), indices};
}

Tensor gather(const Tensor& x, Index axis_given, const Tensor& indices) {
  require(x.defined(), "[gather] the input is undefined");
  const Index axis = normalize_axis(axis_given, x.rank(), "gather");
  check_gather(x, axis, indices);
  Tensor value = Tensor::empty(indices.shape(), x.dtype());
  dispatch_any(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = x.data<T>();
    T* to = value.data<T>();
    for_each_selected(indices, x.strides(), axis,
                      [&](Index given, Index selected) { to[given] = from[selected]; });
  });
  return record_shapes(
      "gather", value, {x},
      [axis, indices = SavedTensor("gather", "indices", indices)](auto inputs, const Tensor& grad) {
        return std::vector<Tensor>{scatter_sum(grad, inputs[0].shape(), axis, indices.get())};
      });
}

}  // namespace headlight
