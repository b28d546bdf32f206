#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "parity/parity_case.h"

namespace headlight::parity {

// Result of the comparison of Headlight with one case.
struct CaseVerdict {
  std::string name;
  std::string rung;
  Index elements = 0;  // number of compared elements
  // Largest |actual - expected| / (|expected| + absolute / relative). It is at most the relative
  // tolerance exactly if every element is within both tolerances.
  double error = 0;
  double limit = 0;  // the case's relative tolerance
  bool passed = true;
  std::string trouble;  // the first difference, or the error that stopped the case
};

// Computes the case and compares. Never throws: a case that ends in an error has failed.
CaseVerdict judge(const Case& subject);

// Compares all results of a run.
CaseVerdict judge(const Case& subject, const Run& run);

// Judges all cases of all .safetensors files in a folder. Throws Error if there is none.
std::vector<CaseVerdict> judge_folder(const std::filesystem::path& folder);

}  // namespace headlight::parity
