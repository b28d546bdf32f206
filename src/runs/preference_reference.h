#pragma once

#include <filesystem>

#include "headlight/distributed/processes.h"
#include "runs/run_start.h"

namespace headlight {

// Sets start.preferences if the data is pairs of answers. A resumed run reads its reference from
// its directory. Throws Error if the pairs have changed since.
void prepare_preferences(RunStart& start);

// Computes the reference of a new run on pairs with its starting model, in all processes together.
// Returns false if there is nothing to compute.
bool complete_reference(RunStart& start, Processes& processes);

// Writes the reference into the directory of the run.
void write_reference(const RunStart& start);

// Returns the folder or file of the model that a run on pairs started from. Throws Error if it is
// not there or has other weights than then.
std::filesystem::path start_of_run(const std::filesystem::path& run);

}  // namespace headlight
