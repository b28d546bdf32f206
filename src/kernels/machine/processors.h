#pragma once

#include <filesystem>
#include <vector>

#include "headlight/base/index.h"

// The CPUs that this process and its threads may run on.
namespace headlight::kernels {

// Returns the increasing numbers of the CPUs that this process may run on; empty: unknown.
std::vector<int> allowed_cpus();

// With OMP_PROC_BIND or OMP_PLACES, moves the calling thread to the place of thread number
// `thread`. Needed because a new thread inherits the place of the thread that started it.
void bind_to_place(Index thread);

// Returns how many threads `cpus` are worth, at least 1. Hardware threads of one core count once
// (/sys/devices/system/cpu). The CPU quotas of the process's control groups and their parents limit
// the number, rounded up (cgroup versions 1 and 2). `root` is the folder that contains proc and
// sys. Missing or malformed files limit nothing.
int usable_cores(const std::filesystem::path& root, const std::vector<int>& cpus);

}  // namespace headlight::kernels
