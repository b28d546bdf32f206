#pragma once

#include <string>

#include "headlight/tensor/tensor.h"

namespace headlight::cli::lab {

// Text of a tensor as PyTorch prints it by default: "NAME = tensor([[1., 0., 2.],", ... Readers can
// compare it with PyTorch's output. Ends with a newline. `scientific` allows 1.3613e-01 if values
// differ by a factor above 1000.
std::string tensor_text(const std::string& name, const Tensor& tensor, bool scientific = false);

// Largest absolute difference between elements of two tensors of the same shape.
double largest_difference(const Tensor& a, const Tensor& b);

}  // namespace headlight::cli::lab
