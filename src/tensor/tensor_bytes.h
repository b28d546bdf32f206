#pragma once

#include <cstddef>

namespace headlight {

// Returns the bytes of all tensors that were ever allocated. For measurements.
std::size_t tensor_bytes_so_far();

}  // namespace headlight
