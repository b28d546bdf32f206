#pragma once

#include <vector>

#include "support/hostile_file.h"

namespace headlight::test {

// Malicious safetensors files: wrong lengths, JSON, entries, layouts and names, and JSON that needs
// much memory.
std::vector<HostileFile> hostile_safetensors();

}  // namespace headlight::test
