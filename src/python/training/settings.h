#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "headlight/train/train_config.h"

namespace headlight::python {

// Sets keys of a training from keyword arguments. Returns their names. Throws Error for an unknown
// key or a wrong value.
std::vector<std::string> set_settings(TrainConfig& config, const nanobind::dict& settings);

}  // namespace headlight::python
