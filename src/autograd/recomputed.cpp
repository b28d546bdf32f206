#include <utility>

#include "autograd/leaf_function.h"
#include "headlight/autograd/autograd.h"

namespace headlight {

Tensor recomputed(const Tensor& x, std::function<Tensor(const Tensor& x)> compute) {
  if (!wants_gradient({x})) {
    return compute(x);
  }
  Tensor value;
  {
    const NoGrad no_grad;
    value = compute(x.detach());
  }
  return record(
      "recomputed", value, {x}, [compute = std::move(compute)](auto in, const Tensor& grad) {
        Tensor leaf = in[0].get().detach();
        leaf.set_requires_grad();
        const NoGrad records_again(false);
        backward(compute(leaf), {.gradient = grad, .on_leaf = LeafFunctionScope::current()});
        return std::vector<Tensor>{leaf.grad()};
      });
}

}  // namespace headlight
