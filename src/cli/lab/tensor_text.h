#pragma once

#include <string>

#include "headlight/tensor/tensor.h"

namespace headlight::cli::lab {

struct TensorTextOptions {
  bool scientific = false;  // may use 1.3613e-01 where values differ by a factor above 1000
  Index edge = 3;           // rows and columns at both ends when there are more than 1000 elements
};

// "NAME = tensor([[1., 0., 2.],", ...: as PyTorch prints tensors with its default options, so that
// the text can be laid beside its output. Ends with a newline.
std::string tensor_text(const std::string& name, const Tensor& tensor,
                        const TensorTextOptions& options = {});

}  // namespace headlight::cli::lab
