#pragma once

#include <vector>

#include "headlight/base/index.h"

// The CPUs that this process and its threads may run on.
namespace headlight::kernels {

// Returns the increasing numbers of the CPUs that this process may run on; empty: unknown.
std::vector<int> allowed_cpus();

// With OMP_PROC_BIND or OMP_PLACES, moves the calling thread to the place of thread number
// `thread`. Needed because a new thread inherits the place of the thread that started it.
void bind_to_place(Index thread);

}  // namespace headlight::kernels
