#pragma once

#include <functional>
#include <span>
#include <vector>

#include "headlight/autograd/saved_tensor.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

// Gradients of an op's inputs from the gradient of its output; an undefined tensor means none.
// It receives the inputs and never captures the output variable, so that no node owns itself. What
// else it reads and others may overwrite, its output's elements or a mask, it captures as
// SavedTensor.
using GradientFunction = std::function<std::vector<Tensor>(std::span<const SavedTensor> inputs,
                                                           const Tensor& output_grad)>;

// Attaches to `value` how it came about. An input may be undefined, where an op was called without
// it; its gradient is dropped. Does nothing when gradients are off or no input wants one.
// `op` must outlive the graph: a string literal.
Tensor record(const char* op, Tensor value, std::vector<Tensor> inputs, GradientFunction gradient);

// The sum of the gradients of one input so far, zeros at first: contiguous, and nobody else's.
using GradientSum = std::function<Tensor&(std::size_t input)>;

// Adds the gradients of an op's inputs to their sums.
using AddGradientFunction = std::function<void(
    std::span<const SavedTensor> inputs, const Tensor& output_grad, const GradientSum& sum_of)>;

// As record(), for an op whose gradient is zero in most elements of a large input, such as a table
// of embeddings: it adds the others in place.
Tensor record_adding(const char* op, Tensor value, std::vector<Tensor> inputs,
                     AddGradientFunction gradient);

// True when an op on these inputs has to be recorded.
bool wants_gradient(std::span<const Tensor> inputs);
bool wants_gradient(std::initializer_list<Tensor> inputs);

// Told about a leaf by its Tensor::grad_node().
using LeafFunction = std::function<void(const GradNode& leaf)>;

struct BackwardOptions {
  Tensor gradient{};          // of the root; default: 1, for a root with one element
  bool retain_graph = false;  // keep the graph for another backward pass
  // Called when all that root's gradient adds to a leaf's has been added: for a layer's weights
  // that is before the layers below are looked at.
  LeafFunction on_leaf = {};
};

// Adds d root / d leaf to the gradient of every leaf that root depends on. Frees the graph as it
// goes unless told to retain it. Iterative: graphs of any depth work.
// Throws Error when root wants no gradient, has more than one element without a given gradient, a
// gradient arrives with another shape or type than its tensor, or a gradient needs elements that
// were overwritten since the forward pass (see Tensor::version); leaves may have got a part of
// their gradients then.
void backward(const Tensor& root, const BackwardOptions& options = {});

// While one lives, ops on this thread record nothing.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool previous_;
};

bool grad_enabled();

// Nodes of all graphs that are alive, leaves aside: 0 after a backward pass whose results are gone.
Index live_graph_nodes();

}  // namespace headlight
