#pragma once

#include <memory>
#include <vector>

#include "headlight/autograd/autograd.h"

namespace headlight {

// How one tensor came about (or, for a leaf, only where its gradient goes).
struct GradNode {
  GradNode(const char* name, const Shape& output_shape, DType output_dtype);
  // Releases long chains without recursion.
  ~GradNode();
  GradNode(const GradNode&) = delete;
  GradNode& operator=(const GradNode&) = delete;

  bool is_leaf() const { return op == nullptr; }
  // Adds to `grad`.
  void accumulate(Tensor arriving);

  const char* op;          // nullptr for a leaf
  std::uint64_t sequence;  // creation order: larger than that of every input
  Shape shape;
  DType dtype;
  std::vector<SavedTensor> inputs;
  GradientFunction gradient;
  AddGradientFunction add_gradient;  // instead of `gradient`
  Tensor grad;                       // of a leaf, or of a node with retains_grad
  bool retains_grad = false;
  bool was_freed = false;  // by a backward pass
};

// into + addition; reuses the elements of `into` when nobody else sees them.
Tensor add_gradients(Tensor into, const Tensor& addition);

}  // namespace headlight
