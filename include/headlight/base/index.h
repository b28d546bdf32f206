#pragma once

#include <cstdint>

namespace headlight {

// Every size, position and stride. Signed, so that differences are safe.
using Index = std::int64_t;

}  // namespace headlight
