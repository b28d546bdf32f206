#pragma once

#include <string>
#include <string_view>

#include "headlight/tensor/named_tensors.h"

namespace headlight {

// XXH3-128 (https://github.com/Cyan4973/xxHash) of the names, types, shapes and elements in their
// order, as 32 hexadecimal digits. One changed bit changes it; it does not resist forgery.
std::string fingerprint(const NamedTensors& tensors);

// The same of the bytes of a file.
std::string fingerprint_of_bytes(std::string_view bytes);

}  // namespace headlight
