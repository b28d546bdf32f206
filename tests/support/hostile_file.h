#pragma once

#include <string>

namespace headlight::test {

// A file that must be refused.
struct HostileFile {
  std::string name;
  std::string bytes;
  std::string expected;  // part of the error
};

}  // namespace headlight::test
