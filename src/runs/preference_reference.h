#pragma once

#include "headlight/cluster/processes.h"
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

}  // namespace headlight
