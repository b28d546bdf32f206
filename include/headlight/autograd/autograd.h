#pragma once

#include <functional>
#include <span>
#include <vector>

#include "headlight/autograd/saved_tensor.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

// Gradient of an op. Returns one gradient per input, from the inputs and the gradient of the
// output; an undefined tensor means no gradient. Must not capture the output variable, or the node
// would own itself. Captures other tensors that may be overwritten, such as the output's elements
// or a mask, as SavedTensor.
using GradientFunction = std::function<std::vector<Tensor>(std::span<const SavedTensor> inputs,
                                                           const Tensor& output_grad)>;

// Adds `value` to the autograd graph as the result of an op. An input may be undefined if the op
// was called without it; its gradient is dropped. Does nothing if gradients are off or no input
// requires one. `op` must outlive the graph: a string literal.
Tensor record(const char* op, Tensor value, std::vector<Tensor> inputs, GradientFunction gradient);

// As record(), for a gradient that reads only the shapes and types of the inputs: their elements
// are not kept for backward.
Tensor record_shapes(const char* op, Tensor value, std::vector<Tensor> inputs,
                     GradientFunction gradient);

// Returns the sum of an input's gradients so far, initially zeros: contiguous and not shared.
using GradientSum = std::function<Tensor&(std::size_t input)>;

// Gradient of an op, as GradientFunction, but returns nothing. Adds the gradient of input i to
// sum_of(i) in place.
using AddGradientFunction = std::function<void(
    std::span<const SavedTensor> inputs, const Tensor& output_grad, const GradientSum& sum_of)>;

// As record(), for ops whose gradient is mostly zero in a large input, such as an embedding table.
// `gradient` adds only the elements that are not zero.
Tensor record_adding(const char* op, Tensor value, std::vector<Tensor> inputs,
                     AddGradientFunction gradient);

// Returns whether an op with these inputs must be recorded.
bool wants_gradient(std::span<const Tensor> inputs);
bool wants_gradient(std::initializer_list<Tensor> inputs);

// Receives a leaf as its Tensor::grad_node().
using LeafFunction = std::function<void(const GradNode& leaf)>;

struct BackwardOptions {
  Tensor gradient{};          // gradient of the root; default: 1, for a root with one element
  bool retain_graph = false;  // keeps the graph for another backward pass
  // Called when a leaf's gradient of this pass is complete. For a layer's weights, that is before
  // backward reaches the layers below.
  LeafFunction on_leaf = {};
};

// Adds d root / d leaf to the gradient of every leaf that root depends on. Frees the graph on the
// way unless retain_graph is set. Iterative: works for graphs of any depth. Throws Error if root
// requires no gradient, or has several elements and no given gradient. Also throws if a gradient
// has another shape or type than its tensor, or needs elements that were overwritten since the
// forward pass (see Tensor::version). Leaves may have partial gradients then.
void backward(const Tensor& root, const BackwardOptions& options = {});

// Returns compute(x) and keeps only x for backward, which computes it again: less memory for more
// time (Chen et al., arXiv 1604.06174). `compute` must return the same bits each time. Gradients
// also reach the other leaves that it uses, as if it had been called directly. on_leaf is called
// for such a leaf by each recomputed() that uses it. If x requires no gradient, compute(x) is
// recorded as it is.
Tensor recomputed(const Tensor& x, std::function<Tensor(const Tensor& x)> compute);

// Disables the recording of ops on this thread during its lifetime.
class NoGrad {
 public:
  NoGrad() : NoGrad(true) {}
  explicit NoGrad(bool disables);  // false: enables it
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool previous_;
};

// Number of live nodes of all graphs, without leaves; 0 once a backward pass's results are gone.
Index live_graph_nodes();

}  // namespace headlight
