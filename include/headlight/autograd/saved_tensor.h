#pragma once

#include "headlight/tensor/tensor.h"

namespace headlight {

// A tensor that backward may need, as it was when the op ran. Shape, type and history are always
// available. Reading the elements fails if they were overwritten, because the gradient would be
// silently wrong. Ops save inputs and outputs in this form; an op that never reads the elements
// never fails.
class SavedTensor {
 public:
  // `op` and `role` ("output", "mask") appear in messages and must outlive the object: string
  // literals. `index` distinguishes tensors with the same role; -1: only one.
  SavedTensor(const char* op, const char* role, Tensor tensor, Index index = -1);

  // Returns the tensor for reading its elements. Throws Error with the op and both versions if they
  // were overwritten since; see Tensor::version().
  const Tensor& get() const;
  operator const Tensor&() const { return get(); }

  bool defined() const { return tensor_.defined(); }
  const Shape& shape() const { return tensor_.shape(); }
  DType dtype() const { return tensor_.dtype(); }
  bool requires_grad() const { return tensor_.requires_grad(); }
  const std::shared_ptr<GradNode>& grad_node() const { return tensor_.grad_node(); }

 private:
  const char* op_;
  const char* role_;
  Index index_;
  Tensor tensor_;
  std::uint64_t version_;
};

}  // namespace headlight
