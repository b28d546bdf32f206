#pragma once

#include <filesystem>
#include <vector>

#include "headlight/base/index.h"

// How much of the machine this process may use, as Linux tells it in files.
namespace headlight::kernels {

// Numbers of the CPUs that this process may run on, rising; empty when the system does not tell.
std::vector<int> allowed_cpus();

// With OMP_PROC_BIND or OMP_PLACES, moves the calling thread to the place that number `thread` has
// there: a new thread starts on that of who started it.
void bind_to_place(Index thread);

// How many of `cpus` are worth a thread: hardware threads of one core count once (/sys/devices/
// system/cpu), and no more than the CPU time that the process' control groups and those around them
// grant, rounded up (version 1 and 2). `root` is where proc and sys are looked for. Files that are
// missing or make no sense limit nothing. At least 1.
int usable_cores(const std::filesystem::path& root, const std::vector<int>& cpus);

}  // namespace headlight::kernels
