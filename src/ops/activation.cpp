#include "headlight/ops/activation.h"

#include "kernels/layers/activations.h"
#include "ops/common.h"

namespace headlight {
namespace {

// Names of the ops in the order of Activation, for messages and the autograd graph.
constexpr const char* kNames[] = {"gelu", "gelu", "relu", "relu2", "silu"};

}  // namespace

Tensor activate(const Tensor& x, Activation activation) {
  const char* op = kNames[static_cast<std::size_t>(activation)];
  const Tensor value = map_with_loop(
      op,
      [activation]<class T>(const kernels::Loops<T>&) {
        return kernels::activation_loops<T>(activation).value;
      },
      x);
  return record(op, value, {x}, [op, activation](auto inputs, const Tensor& grad) {
    return std::vector<Tensor>{map_with_loop(
        op,
        [activation]<class T>(const kernels::Loops<T>&) {
          return kernels::activation_loops<T>(activation).backward;
        },
        inputs[0].get(), grad)};
  });
}

}  // namespace headlight
