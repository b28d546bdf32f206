#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// Ordered tensors with unique names: a module's parameters or the content of a tensor file.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Throws Error, "WHERE NAME contains ...", for the first tensor with a value that is not finite or
// with elements of another kind than floating-point numbers.
void require_finite(const NamedTensors& tensors, const std::string& where);

// Copies the elements of `from` into the tensors of the same name in `into`. Both must have the
// same names and shapes. Throws Error naming `where` and the first tensor that is missing,
// unexpected or of another shape.
void copy_tensors(const NamedTensors& from, const NamedTensors& into, const std::string& where);

}  // namespace headlight
