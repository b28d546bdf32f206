#pragma once

#include "headlight/cluster/processes.h"

namespace headlight::cli {

// The processes that a launcher (mpirun, srun) has started together with this one, or this one
// alone. The first call opens them, and all but process 0 say nothing from then on. Throws as
// launched_processes() does.
Processes& all_processes();

// After a failure: true when another process tells of it, and this one ends quietly. Tells the
// others that this one cannot go on.
bool is_told_by_others() noexcept;

}  // namespace headlight::cli
