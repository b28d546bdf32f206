#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "parity/parity_case.h"

namespace headlight::parity {

// How far Headlight lies from what a case expects.
struct Verdict {
  std::string name;
  std::string rung;
  Index elements = 0;  // compared
  // The largest |actual - expected| / (|expected| + absolute / relative): at most the relative
  // tolerance exactly when every element is within both.
  double error = 0;
  double limit = 0;  // the case's relative tolerance
  bool passed = true;
  std::string trouble;  // what differs first, or why it could not be computed
};

// Computes the case and compares. Throws nothing: a case that cannot be computed has not passed.
Verdict judge(const Case& subject);

// Compares what was computed, each result of a name.
Verdict judge(const Case& subject, const Run& run);

// Of every case of every .safetensors file in a folder. Throws Error when there is none.
std::vector<Verdict> judge_folder(const std::filesystem::path& folder);

}  // namespace headlight::parity
