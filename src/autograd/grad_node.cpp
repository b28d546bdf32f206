#include "autograd/grad_node.h"

#include <atomic>

#include "kernels/loops.h"
#include "kernels/parallel.h"

namespace headlight {
namespace {

// Gives nodes their order and counts those alive; both only ever observe.
std::atomic<std::uint64_t> next_sequence{0};
std::atomic<Index> live_nodes{0};

}  // namespace

GradNode::GradNode(const char* name, const Shape& output_shape, DType output_dtype)
    : op(name), sequence(next_sequence++), shape(output_shape), dtype(output_dtype) {
  if (!is_leaf()) {
    ++live_nodes;
  }
}

GradNode::~GradNode() {
  if (!is_leaf()) {
    --live_nodes;
  }
  // An input that only this node keeps alive would be destroyed inside our destructor, and its
  // inputs inside that one. Take their inputs over first.
  std::vector<SavedTensor> doomed = std::move(inputs);
  while (!doomed.empty()) {
    const SavedTensor tensor = std::move(doomed.back());
    doomed.pop_back();
    const std::shared_ptr<GradNode>& node = tensor.grad_node();
    if (node != nullptr && node.use_count() == 1) {
      for (SavedTensor& input : node->inputs) {
        doomed.push_back(std::move(input));
      }
      node->inputs.clear();
    }
  }
}

void GradNode::accumulate(Tensor arriving) {
  if (grad.defined()) {
    grad = add_gradients(std::move(grad), arriving);
    return;
  }
  // A gradient that other tensors share would change with them.
  const bool own = arriving.owns_storage_alone() && arriving.is_contiguous();
  grad = own ? std::move(arriving) : arriving.clone();
}

Tensor add_gradients(Tensor into, const Tensor& addition) {
  const bool in_place = into.owns_storage_alone() && into.is_contiguous();
  Tensor sum = in_place ? into : Tensor::empty(into.shape(), into.dtype());
  const Tensor a = to_contiguous(into);
  const Tensor b = to_contiguous(addition);
  dispatch_floating(sum.dtype(), "backward", [&](auto zero) {
    using T = decltype(zero);
    const T* from_a = a.data<T>();
    const T* from_b = b.data<T>();
    T* to = sum.data<T>();
    kernels::parallel_for(sum.numel(), kernels::kElementGrain, [&](Index begin, Index end) {
      kernels::loops<T>().add(from_a + begin, from_b + begin, to + begin, end - begin);
    });
  });
  return sum;
}

Index live_graph_nodes() { return live_nodes; }

}  // namespace headlight
