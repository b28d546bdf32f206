#pragma once

#include <string>

namespace headlight {

// Returns version, revision and compiler: "0.1.0, revision 1f2e3d4c5b6a, GCC 12.2.0".
std::string build_description();

}  // namespace headlight
