#pragma once

#include <string>
#include <vector>

namespace headlight::test {

// A file that must be refused.
struct HostileFile {
  std::string name;
  std::string bytes;
  std::string expected;  // part of the error
};

// Malicious safetensors files: wrong lengths, JSON, entries, layouts and names, and JSON that would
// take much memory.
std::vector<HostileFile> hostile_safetensors();

}  // namespace headlight::test
