// Fills the tensors of headlight/tensor/random.h on all threads; every number depends on its index
// alone.
#include "headlight/tensor/random.h"
#include "kernels/threads/parallel.h"

namespace headlight {
namespace {

constexpr Index kDrawGrain = 4096;  // numbers that are worth their own chunk

template <class Draw>
void fill(Tensor& x, const char* where, const Draw& draw) {
  dispatch_floating(x.dtype(), where, [&](auto zero) {
    using T = decltype(zero);
    T* values = x.data<T>();
    kernels::parallel_for(x.numel(), kDrawGrain, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        values[i] = static_cast<T>(draw(static_cast<std::uint64_t>(i)));
      }
    });
  });
}

}  // namespace

Tensor random_uniform(const Shape& shape, const RandomStream& random, double low, double high,
                      DType dtype) {
  Tensor result = Tensor::empty(shape, dtype);
  fill(result, "random_uniform",
       [&](std::uint64_t i) { return low + (high - low) * random.uniform(i); });
  return result;
}

Tensor random_normal(const Shape& shape, const RandomStream& random, double mean, double deviation,
                     DType dtype) {
  Tensor result = Tensor::empty(shape, dtype);
  fill(result, "random_normal",
       [&](std::uint64_t i) { return mean + deviation * random.normal(i); });
  return result;
}

}  // namespace headlight
