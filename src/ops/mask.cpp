#include "headlight/ops/mask.h"

#include "headlight/ops/compare.h"
#include "headlight/ops/reduce.h"
#include "ops/common.h"

namespace headlight {
namespace {

// Returns [rows, columns] bool, true where keep(row, column) is false.
template <class Keep>
Tensor mask_unless(Index rows, Index columns, Keep keep) {
  Tensor mask = Tensor::empty({rows, columns}, DType::boolean);
  bool* values = mask.data<bool>();
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < columns; ++column) {
      values[row * columns + column] = !keep(row, column);
    }
  }
  return mask;
}

// Returns x, of any type, with 0 where the mask is true.
Tensor zero_where(const Tensor& x, const Tensor& mask) {
  return dispatch_any(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return map_pairs<T, bool>(x, broadcast_view(mask, x.shape()),
                              [](T kept, bool hidden) { return hidden ? T{} : kept; });
  });
}

template <class Keep>
Tensor keep_triangle(const Tensor& x, const char* where, Keep keep) {
  require(x.defined() && x.rank() >= 2, "[", where, "] expected at least two axes, got shape ",
          x.shape());
  const Tensor mask = mask_unless(x.size(-2), x.size(-1), keep);
  return record_shapes(where, zero_where(x, mask), {x}, [mask](auto, const Tensor& grad) {
    return std::vector<Tensor>{zero_where(grad, mask)};
  });
}

}  // namespace

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  require(x.defined(), "[masked_fill] the input is undefined");
  require_mask(mask, x, "masked_fill");
  return record_shapes("masked_fill", fill_where(x, mask, value, "masked_fill"), {x},
                       [mask = SavedTensor("masked_fill", "mask", mask)](auto, const Tensor& grad) {
                         return std::vector<Tensor>{fill_where(grad, mask, 0, "masked_fill")};
                       });
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  require_type(condition, DType::boolean, "where", "condition");
  require(a.defined() && b.defined(), "[where] an operand is undefined");
  require_same_type(a, b, "where");
  const Shape shape =
      broadcast_shapes(broadcast_shapes(a.shape(), b.shape(), "where"), condition.shape(), "where");
  Tensor value = broadcast_view(b, shape).clone();
  const Tensor chosen = broadcast_view(condition, shape);
  const Tensor from = broadcast_view(a, shape);
  dispatch_floating(a.dtype(), "where", [&](auto zero) {
    using T = decltype(zero);
    const StridedRows<3> rows(shape, {value.strides(), from.strides(), chosen.strides()});
    T* to = value.data<T>();
    const T* source = from.data<T>();
    const bool* take = chosen.data<bool>();
    parallel_rows(rows, [&](const auto& start, Index first, Index last) {
      for (Index i = first; i < last; ++i) {
        if (take[start[2] + i * rows.step[2]]) {
          to[start[0] + i * rows.step[0]] = source[start[1] + i * rows.step[1]];
        }
      }
    });
  });
  return record_shapes(
      "where", value, {a, b},
      [condition = SavedTensor("where", "condition", condition)](auto inputs, const Tensor& grad) {
        const Tensor b_grad = fill_where(grad, condition, 0, "where");
        const Tensor a_grad = fill_where(grad, mask_from_keep(condition), 0, "where");
        return std::vector<Tensor>{sum_to_shape(a_grad, inputs[0].shape()),
                                   sum_to_shape(b_grad, inputs[1].shape())};
      });
}

Tensor tril(const Tensor& x, Index diagonal) {
  return keep_triangle(x, "tril",
                       [=](Index row, Index column) { return column - row <= diagonal; });
}

Tensor triu(const Tensor& x, Index diagonal) {
  return keep_triangle(x, "triu",
                       [=](Index row, Index column) { return column - row >= diagonal; });
}

Tensor causal_mask(Index query_count, Index key_count, Index window) {
  const Index offset = key_count - query_count;
  return mask_unless(query_count, key_count, [=](Index query, Index key) {
    const Index own = query + offset;
    return key <= own && (window == 0 || own - key < window);
  });
}

Tensor padding_mask(const std::vector<Index>& lengths, Index width) {
  const auto rows = static_cast<Index>(lengths.size());
  for (const Index length : lengths) {
    require(length >= 0 && length <= width, "[padding_mask] expected lengths from 0 to ", width,
            ", got ", length);
  }
  return mask_unless(rows, width, [&](Index row, Index column) {
    return column < lengths[static_cast<std::size_t>(row)];
  });
}

Tensor mask_from_keep(const Tensor& keep) {
  require(keep.defined(), "[mask_from_keep] the mask is undefined");
  return logical_not(keep);
}

Tensor combine_masks(const Tensor& a, const Tensor& b) {
  require_mask_type(a, "combine_masks", "a");
  require_mask_type(b, "combine_masks", "b");
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), "combine_masks");
  return map_pairs<bool, bool>(broadcast_view(a, shape), broadcast_view(b, shape),
                               [](bool x, bool y) { return x || y; });
}

}  // namespace headlight
