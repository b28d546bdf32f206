#include "headlight/ops/dropout.h"

#include "ops/common.h"

namespace headlight {
namespace {

Tensor apply(const Tensor& x, double probability, const RandomStream& random) {
  const Tensor from = to_contiguous(x);
  Tensor result = Tensor::empty(x.shape(), x.dtype());
  dispatch_floating(x.dtype(), "dropout", [&](auto zero) {
    using T = decltype(zero);
    const T* source = from.data<T>();
    T* to = result.data<T>();
    kernels::parallel_for(result.numel(), kernels::kElementGrain, [&](Index begin, Index end) {
      const kernels::DropoutRow row{.seed = random.seed,
                                    .stream = random.stream,
                                    .position = static_cast<std::uint64_t>(begin),
                                    .probability = probability};
      kernels::loops<T>().dropout(source + begin, to + begin, row, end - begin);
    });
  });
  return result;
}

}  // namespace

Tensor dropout(const Tensor& x, double probability, const RandomStream& random) {
  require(x.defined(), "[dropout] the input is undefined");
  require(probability >= 0 && probability < 1,
          "[dropout] expected a probability from 0 to below 1, got ", probability);
  if (probability == 0) {
    return x;
  }
  return record_shapes("dropout", apply(x, probability, random), {x},
                       [probability, random](auto, const Tensor& grad) {
                         return std::vector<Tensor>{apply(grad, probability, random)};
                       });
}

}  // namespace headlight
