#pragma once

#include <filesystem>
#include <string>

#include "parity/verdict.h"
#include "support/catch.h"

// Helpers for tests of frozen cases.
namespace headlight::parity {

// Path of the fixture file of a group.
inline std::filesystem::path fixture(const std::string& group) {
  return std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests" / "parity" / "fixtures" /
         (group + ".safetensors");
}

// Checks that every case of a group's rung agrees with PyTorch, in both types.
inline void check_rung(const std::string& group, const std::string& rung) {
  const std::vector<Case> cases = read_cases(fixture(group));
  for (const std::string dtype : {"float64", "float32"}) {
    Index judged = 0;
    for (const Case& subject : cases) {
      if (subject.rung == rung + ", " + dtype) {
        const CaseVerdict verdict = judge(subject);
        INFO(verdict.name << ": " << verdict.trouble);
        CHECK(verdict.passed);
        ++judged;
      }
    }
    INFO("cases in " << dtype);
    CHECK(judged > 0);
  }
}

}  // namespace headlight::parity
