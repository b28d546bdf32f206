#pragma once

#include <string>

#include "headlight/tensor/tensor.h"

namespace headlight::cli::lab {

struct TensorTextOptions {
  bool scientific = false;  // allows 1.3613e-01 if values differ by a factor above 1000
  Index edge = 3;           // rows and columns at both ends of more than 1000 elements
};

// Text of a tensor as PyTorch prints it by default: "NAME = tensor([[1., 0., 2.],", ... Readers can
// compare it with PyTorch's output. Ends with a newline.
std::string tensor_text(const std::string& name, const Tensor& tensor,
                        const TensorTextOptions& options = {});

}  // namespace headlight::cli::lab
