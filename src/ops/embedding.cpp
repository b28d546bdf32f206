#include "headlight/ops/embedding.h"

#include <algorithm>

#include "ops/common.h"

namespace headlight {
namespace {

constexpr Index kColumnGrain = 64;

void check_ids(const Tensor& ids, Index vocabulary) {
  const std::int32_t* values = ids.data<std::int32_t>();
  for (Index i = 0; i < ids.numel(); ++i) {
    require(values[i] >= 0 && values[i] < vocabulary, "[embedding] expected ids from 0 to ",
            vocabulary - 1, ", got ", values[i], " at position ", i);
  }
}

// Adds the rows of grad [N, C] to rows ids[n] of the result [V, C]. Each thread owns a range of
// columns and adds rows in order.
template <class T>
void scatter_rows(const Tensor& grad, const Tensor& ids, Index skipped, Tensor& result) {
  const Index width = result.size(1);
  const std::int32_t* rows = ids.data<std::int32_t>();
  const T* from = grad.data<T>();
  T* to = result.data<T>();
  kernels::parallel_for(width, kColumnGrain, [&](Index begin, Index end) {
    for (Index n = 0; n < ids.numel(); ++n) {
      if (rows[n] != skipped) {
        T* target = to + rows[n] * width + begin;
        kernels::loops<T>().add(target, from + n * width + begin, target, end - begin);
      }
    }
  });
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& ids_given,
                 std::optional<Index> padding_index) {
  require(weight.defined() && weight.rank() == 2, "[embedding] expected a weight with two axes");
  require_type(ids_given, DType::int32, "embedding", "ids");
  const Index vocabulary = weight.size(0);
  const Index width = weight.size(1);
  require(!padding_index || (*padding_index >= 0 && *padding_index < vocabulary),
          "[embedding] expected a padding index from 0 to ", vocabulary - 1, ", got ",
          padding_index.value_or(0));
  const Tensor ids = to_contiguous(ids_given);
  check_ids(ids, vocabulary);
  const Tensor table = to_contiguous(weight);
  Shape shape = ids.shape();
  shape.push_back(width);
  Tensor value = Tensor::empty(shape, weight.dtype());
  dispatch_floating(weight.dtype(), "embedding", [&](auto zero) {
    using T = decltype(zero);
    const std::int32_t* rows = ids.data<std::int32_t>();
    const T* from = table.data<T>();
    T* to = value.data<T>();
    kernels::parallel_for(ids.numel(), kernels::row_grain(width), [&](Index begin, Index end) {
      for (Index n = begin; n < end; ++n) {
        std::copy_n(from + rows[n] * width, width, to + n * width);
      }
    });
  });
  const Index skipped = padding_index.value_or(-1);
  return record_adding("embedding", value, {weight},
                       [ids = SavedTensor("embedding", "ids", ids), skipped](
                           auto inputs, const Tensor& grad, const GradientSum& sum_of) {
                         Tensor& weight_grad = sum_of(0);
                         dispatch_floating(inputs[0].dtype(), "embedding", [&](auto zero) {
                           scatter_rows<decltype(zero)>(to_contiguous(grad), ids, skipped,
                                                        weight_grad);
                         });
                       });
}

}  // namespace headlight
