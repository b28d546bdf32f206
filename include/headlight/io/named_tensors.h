#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// The content of a tensor file: names in file order, each at most once.
//
// A name is 1 to 1024 bytes of UTF-8 without control characters, and, because it becomes a file
// name inside an .npz archive, neither starts with '/' nor has a part that is "..".
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

}  // namespace headlight
