#include "headlight/ops/layout.h"

#include <algorithm>

#include "headlight/ops/reduce.h"
#include "ops/common.h"

namespace headlight {
namespace {

Shape resolve_shape(const Tensor& x, const Shape& wanted) {
  Shape shape = wanted;
  Index known = 1;
  Index open_axis = -1;
  for (Index axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == -1) {
      require(open_axis < 0, "[reshape] only one size may be -1, got ", wanted);
      open_axis = axis;
    } else {
      require(shape[axis] >= 0, "[reshape] sizes must not be negative, got ", wanted);
      require(!__builtin_mul_overflow(known, shape[axis], &known),
              "[reshape] too many elements: ", wanted);
    }
  }
  if (open_axis >= 0) {
    require(known > 0 && x.numel() % known == 0, "[reshape] cannot reshape ", x.shape(), " to ",
            wanted);
    shape[open_axis] = x.numel() / known;
  }
  require(numel(shape) == x.numel(), "[reshape] cannot reshape ", x.shape(), " to ", wanted);
  return shape;
}

// Records a view of some elements of x. view_of(whole) returns these elements of x or of its
// gradient, whose strides differ.
template <class View>
Tensor record_part(const char* op, const Tensor& x, View view_of) {
  return record_shapes(op, view_of(x), {x}, [view_of](auto inputs, const Tensor& grad) {
    const Tensor whole = Tensor::zeros(inputs[0].shape(), inputs[0].dtype());
    view_of(whole).copy_from(grad);
    return std::vector<Tensor>{whole};
  });
}

// Records a view of all elements of x.
Tensor record_reshaped(const char* op, const Tensor& x, const Shape& shape, const Shape& strides) {
  return record_shapes(op, x.strided_view(shape, strides), {x},
                       [](auto inputs, const Tensor& grad) {
                         return std::vector<Tensor>{reshape(grad, inputs[0].shape())};
                       });
}

Index clamp_bound(Index bound, Index size) {
  return std::clamp(bound < 0 ? bound + size : bound, Index{0}, size);
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& wanted) {
  require(x.defined(), "[reshape] the input is undefined");
  const Shape shape = resolve_shape(x, wanted);
  const Tensor source = to_contiguous(x);
  return record_shapes("reshape", source.strided_view(shape, contiguous_strides(shape)), {x},
                       [](auto inputs, const Tensor& grad) {
                         return std::vector<Tensor>{reshape(grad, inputs[0].shape())};
                       });
}

Tensor permute(const Tensor& x, const std::vector<Index>& order) {
  require(x.defined(), "[permute] the input is undefined");
  require(static_cast<Index>(order.size()) == x.rank(), "[permute] expected ", x.rank(),
          " axes, got ", order.size());
  Shape shape;
  Shape strides;
  std::vector<Index> inverse(order.size(), -1);
  for (std::size_t to = 0; to < order.size(); ++to) {
    const Index from = normalize_axis(order[to], x.rank(), "permute");
    Index& slot = inverse[static_cast<std::size_t>(from)];
    require(slot < 0, "[permute] axis ", order[to], " is named twice");
    slot = static_cast<Index>(to);
    shape.push_back(x.shape()[from]);
    strides.push_back(x.strides()[from]);
  }
  return record_shapes(
      "permute", x.strided_view(shape, strides), {x},
      [inverse](auto, const Tensor& grad) { return std::vector<Tensor>{permute(grad, inverse)}; });
}

Tensor transpose(const Tensor& x, Index axis_a, Index axis_b) {
  require(x.defined(), "[transpose] the input is undefined");
  std::vector<Index> order(static_cast<std::size_t>(x.rank()));
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    order[axis] = static_cast<Index>(axis);
  }
  std::swap(order[static_cast<std::size_t>(normalize_axis(axis_a, x.rank(), "transpose"))],
            order[static_cast<std::size_t>(normalize_axis(axis_b, x.rank(), "transpose"))]);
  return permute(x, order);
}

Tensor slice(const Tensor& x, Index axis_given, Index start, Index end, Index step_given) {
  require(x.defined(), "[slice] the input is undefined");
  require(step_given > 0, "[slice] expected a positive step, got ", step_given);
  const Index axis = normalize_axis(axis_given, x.rank(), "slice");
  // A step beyond the end selects one element; limiting it avoids overflow.
  const Index step = std::min(step_given, std::max<Index>(x.shape()[axis], 1));
  const Index first = clamp_bound(start, x.shape()[axis]);
  const Index last = std::max(first, clamp_bound(end, x.shape()[axis]));
  return record_part("slice", x, [=](const Tensor& whole) {
    Shape shape = whole.shape();
    Shape strides = whole.strides();
    shape[axis] = divided_up(last - first, step);
    strides[axis] *= step;
    return whole.strided_view(shape, strides, first * whole.strides()[axis]);
  });
}

Tensor select(const Tensor& x, Index axis_given, Index index) {
  require(x.defined(), "[select] the input is undefined");
  const Index axis = normalize_axis(axis_given, x.rank(), "select");
  const Index size = x.shape()[axis];
  require(index >= -size && index < size, "[select] index ", index, " is out of range for axis ",
          axis, " of shape ", x.shape());
  const Index position = index < 0 ? index + size : index;
  return record_part("select", x, [=](const Tensor& whole) {
    Shape shape = whole.shape();
    Shape strides = whole.strides();
    shape.erase(axis);
    strides.erase(axis);
    return whole.strided_view(shape, strides, position * whole.strides()[axis]);
  });
}

Tensor unsqueeze(const Tensor& x, Index axis_given) {
  require(x.defined(), "[unsqueeze] the input is undefined");
  const Index axis = normalize_axis(axis_given, x.rank() + 1, "unsqueeze");
  Shape shape = x.shape();
  Shape strides = x.strides();
  strides.insert(axis, axis < x.rank() ? shape[axis] * strides[axis] : 1);
  shape.insert(axis, 1);
  return record_reshaped("unsqueeze", x, shape, strides);
}

Tensor squeeze(const Tensor& x, std::optional<Index> axis_given) {
  require(x.defined(), "[squeeze] the input is undefined");
  const Index chosen = axis_given ? normalize_axis(*axis_given, x.rank(), "squeeze") : -1;
  Shape shape;
  Shape strides;
  for (Index axis = 0; axis < x.rank(); ++axis) {
    if (x.shape()[axis] != 1 || (axis_given && axis != chosen)) {
      shape.push_back(x.shape()[axis]);
      strides.push_back(x.strides()[axis]);
    }
  }
  return record_reshaped("squeeze", x, shape, strides);
}

Tensor expand(const Tensor& x, const Shape& shape) {
  require(x.defined(), "[expand] the input is undefined");
  require(broadcast_shapes(x.shape(), shape, "expand") == shape, "[expand] shape ", x.shape(),
          " does not expand to ", shape);
  return record_shapes("expand", broadcast_view(x, shape), {x},
                       [](auto inputs, const Tensor& grad) {
                         return std::vector<Tensor>{sum_to_shape(grad, inputs[0].shape())};
                       });
}

Tensor contiguous(const Tensor& x) {
  require(x.defined(), "[contiguous] the input is undefined");
  if (x.is_contiguous()) {
    return x;
  }
  return record_shapes("contiguous", x.clone(), {x},
                       [](auto, const Tensor& grad) { return std::vector<Tensor>{grad}; });
}

Tensor concat(const std::vector<Tensor>& parts, Index axis_given) {
  require(!parts.empty(), "[concat] expected at least one tensor");
  const Index axis = normalize_axis(axis_given, parts[0].rank(), "concat");
  Shape shape = parts[0].shape();
  shape[axis] = 0;
  for (const Tensor& part : parts) {
    require_same_type(part, parts[0], "concat");
    Shape expected = parts[0].shape();
    require(part.rank() == expected.rank(), "[concat] shapes differ: ", expected, " and ",
            part.shape());
    expected[axis] = part.shape()[axis];
    require_shape(part, expected, "concat", "every tensor");
    shape[axis] += part.shape()[axis];
  }
  Tensor whole = Tensor::empty(shape, parts[0].dtype());
  Index start = 0;
  for (const Tensor& part : parts) {
    const Index offset = start * whole.strides()[axis];
    whole.strided_view(part.shape(), whole.strides(), offset).copy_from(part);
    start += part.shape()[axis];
  }
  return record_shapes("concat", whole, parts, [axis](auto inputs, const Tensor& grad) {
    std::vector<Tensor> gradients;
    Index first = 0;
    for (const SavedTensor& input : inputs) {
      const Index size = input.shape()[axis];
      gradients.push_back(slice(grad, axis, first, first + size));
      first += size;
    }
    return gradients;
  });
}

Tensor stack(const std::vector<Tensor>& parts, Index axis_given) {
  require(!parts.empty(), "[stack] expected at least one tensor");
  const Index axis = normalize_axis(axis_given, parts[0].rank() + 1, "stack");
  std::vector<Tensor> rows;
  for (const Tensor& part : parts) {
    require_shape(part, parts[0].shape(), "stack", "every tensor");
    Shape shape = part.shape();
    shape.insert(axis, 1);
    rows.push_back(reshape(part, shape));
  }
  return concat(rows, axis);
}

std::vector<Tensor> split(const Tensor& x, Index size, Index axis_given) {
  require(x.defined(), "[split] the input is undefined");
  require(size > 0, "[split] expected a positive size, got ", size);
  const Index axis = normalize_axis(axis_given, x.rank(), "split");
  std::vector<Tensor> pieces;
  for (Index start = 0; start < x.shape()[axis]; start += size) {
    pieces.push_back(slice(x, axis, start, start + size));
  }
  return pieces;
}

}  // namespace headlight
