#include "headlight/ops/activation.h"

#include "headlight/autograd/autograd.h"
#include "kernels/layers/activations.h"
#include "ops/common.h"

namespace headlight {
namespace {

// Returns the op's name for messages and the autograd graph.
const char* op_name(Activation activation) {
  switch (activation) {
    case Activation::gelu_tanh:
    case Activation::gelu_erf:
      return "gelu";
    case Activation::relu:
      return "relu";
    case Activation::relu2:
      return "relu2";
    case Activation::silu:
      break;
  }
  return "silu";
}

}  // namespace

Tensor activate(const Tensor& x, Activation activation) {
  const char* op = op_name(activation);
  const Tensor value = map_with_loop(x, op, [activation]<class T>(const kernels::Loops<T>&) {
    return kernels::activation_loops<T>(activation).value;
  });
  return record(op, value, {x}, [op, activation](auto inputs, const Tensor& grad) {
    return std::vector<Tensor>{
        map_pairs_with_loop(inputs[0], grad, op, [activation]<class T>(const kernels::Loops<T>&) {
          return kernels::activation_loops<T>(activation).backward;
        })};
  });
}

Tensor gelu(const Tensor& x, GeluForm form) {
  return activate(x, form == GeluForm::tanh ? Activation::gelu_tanh : Activation::gelu_erf);
}

Tensor relu(const Tensor& x) { return activate(x, Activation::relu); }

Tensor silu(const Tensor& x) { return activate(x, Activation::silu); }

}  // namespace headlight
