#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "headlight/tensor/tensor.h"

namespace headlight {

// Layout of a printed tensor. The defaults are as in torch.set_printoptions().
struct PrintOptions {
  int precision = 4;       // digits after the decimal point, 0 to 100
  Index threshold = 1000;  // tensors with more elements show only the edges of their axes
  Index edge_items = 3;    // elements at both ends of an axis, if there are more
  Index line_width = 80;   // columns
  // Form 1.3613e-01. Default: if absolute values are above 1e8, below 1e-4, or differ by a factor
  // above 1000.
  std::optional<bool> scientific = {};
  Index indent = 0;  // column at which the text begins; following lines are aligned to it
};

// Returns the text that PyTorch 2.13 prints for a tensor with these elements: "tensor([[1., 0.]])".
// As there, types other than float32 and bool are named (dtype=torch.int32), a leaf shows
// requires_grad=True, and a result shows the op that computed it: grad_fn=<MulBackward0> for "mul".
// Throws Error for options that are out of range.
std::string tensor_text(const Tensor& x, const PrintOptions& options = {});

// Returns a shape as Python writes a tuple: "()", "(5,)", "(2, 3)".
std::string tuple_text(const Shape& shape);

// Writes tensor_text(x).
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace headlight
