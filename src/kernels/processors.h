#pragma once

#include <filesystem>
#include <vector>

namespace headlight::kernels {

// Returns how many threads `cpus` are worth, at least 1. Hardware threads of one core count once
// (/sys/devices/system/cpu). The CPU quotas of the process's control groups and their parents limit
// the number, rounded up (cgroup versions 1 and 2). `root` is the folder that contains proc and
// sys. Missing or malformed files limit nothing.
int usable_cores(const std::filesystem::path& root, const std::vector<int>& cpus);

}  // namespace headlight::kernels
