#pragma once

#include <string>

namespace headlight::test {

// File that readers must refuse.
struct HostileFile {
  std::string name;
  std::string bytes;
  std::string expected;  // part of the error
};

}  // namespace headlight::test
