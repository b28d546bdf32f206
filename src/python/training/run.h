#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "headlight/runs/run.h"

namespace headlight::python {

class Model;

// A training run in a directory.
struct TrainedRun {
  std::filesystem::path path;
  std::optional<RunResult> result = {};  // of hl.train()
  std::shared_ptr<Model> model = {};     // loaded when it is asked for
};

}  // namespace headlight::python
