#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "headlight/datasets/text_files.h"

namespace headlight {

// Returns a line for the user if a run trained on the texts of `files`; otherwise "". `model` is
// the run directory or one of its checkpoints; other models have no known texts. Takes excerpts of
// the files, evenly spread, and searches for them in the part of the run's data that is not held
// out for evaluation. Compares bytes, so files may have other names, but must not be compressed in
// another way. Reads at most 1 GB of data.
std::string seen_in_training(const std::filesystem::path& model,
                             const std::vector<TextFile>& files);

}  // namespace headlight
