#pragma once

#include "cli/commands.h"

// Commands of the course.
namespace headlight::cli {

RunCommand run_lab, run_gradcheck;

}  // namespace headlight::cli
