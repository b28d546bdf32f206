// Defines an op outside the library, with its gradient. Example of docs/library.md.
#include <headlight/autograd/autograd.h>
#include <headlight/autograd/gradient_check.h>
#include <headlight/kernels/threads/parallel.h>
#include <headlight/ops/elementwise.h>
#include <headlight/tensor/random.h>

#include <cmath>
#include <iostream>

using namespace headlight;

// log(1 + exp(x)) of every element, double or float.
template <class T>
void softplus_elements(const Tensor& x, Tensor& y) {
  const T* from = x.data<T>();
  T* to = y.mutable_data<T>();
  parallel_for(x.numel(), 16384, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      to[i] = std::max(from[i], T{0}) + std::log1p(std::exp(-std::abs(from[i])));
    }
  });
}

Tensor softplus(const Tensor& x) {
  const Tensor values = to_contiguous(x.detach());
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  if (x.dtype() == DType::float64) {
    softplus_elements<double>(values, y);
  } else {
    softplus_elements<float>(values, y);
  }
  return record("softplus", y, {x}, [](auto inputs, const Tensor& grad) {
    return std::vector<Tensor>{grad * sigmoid(inputs[0])};
  });
}

int main() {
  const Tensor x = random_uniform({3, 5}, {7, 7}, -3, 3, DType::float64).set_requires_grad();
  const GradientCheckResult check =
      check_gradients([](const auto& inputs) { return softplus(inputs[0]); }, {x});
  std::cout << "gradients " << (check.passed ? "agree" : check.worst) << "\n";
  return check.passed ? 0 : 1;
}
