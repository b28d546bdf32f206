#pragma once

#include "headlight/tensor/tensor.h"

namespace headlight {

// A tensor that the gradient of an op may need, as it was when the op ran. Shape, type and history
// are always to be had. The elements are as long as nobody has overwritten them: a gradient that is
// computed from others is wrong and looks right. Ops therefore keep their inputs and outputs for
// backward in this form, and those that never ask for the elements refuse nothing.
class SavedTensor {
 public:
  // `op` and `role` ("output", "mask") are for messages and must outlive it: string literals.
  // `index`: which one of several with this role; -1: there is only one.
  SavedTensor(const char* op, const char* role, Tensor tensor, Index index = -1);

  // The tensor, to read its elements. Throws Error, naming the op and both versions, when they were
  // overwritten since; see Tensor::version().
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
