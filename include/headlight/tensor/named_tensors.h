#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// Tensors in an order, each with a name of its own: a module's parameters, a tensor file's content.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

}  // namespace headlight
