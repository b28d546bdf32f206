#pragma once

#include <string>

#include "headlight/tensor/tensor.h"

namespace headlight::cli::lab {

// Returns "NAME = tensor([[1., 0., 2.],": a tensor's float32 values as PyTorch prints them, so that
// readers can compare them with PyTorch's output. Ends with a newline. `scientific` allows
// 1.3613e-01 if values differ by a factor above 1000.
std::string named_tensor_text(const std::string& name, const Tensor& tensor,
                              bool scientific = false);

// Largest absolute value of an element.
double largest_size(const Tensor& x);

// Largest absolute difference between elements of two tensors of the same shape.
double largest_difference(const Tensor& a, const Tensor& b);

}  // namespace headlight::cli::lab
