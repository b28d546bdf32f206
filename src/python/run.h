#pragma once

#include <filesystem>
#include <optional>

#include "headlight/runs/run.h"

namespace headlight::python {

// A training run in a directory.
struct TrainedRun {
  std::filesystem::path path;
  std::optional<RunResult> result = {};  // of hl.train()
};

}  // namespace headlight::python
