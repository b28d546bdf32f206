#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// Ordered tensors with unique names: a module's parameters or the content of a tensor file.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

}  // namespace headlight
