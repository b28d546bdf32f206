#pragma once

#include "headlight/distributed/processes.h"

namespace headlight::cli {

// Processes that a launcher (mpirun, srun) started together with this one, or this one alone. The
// first call connects them and silences all but process 0. Throws as launched_processes().
Processes& all_processes();

// Informs the other processes that this one failed. Returns true if another process prints the
// error; then this one ends silently.
bool another_rank_reports() noexcept;

}  // namespace headlight::cli
