#pragma once

#include <functional>

#include "headlight/cluster/processes.h"

namespace headlight::test {

// Calls `work` on `count` threads, each of which is a process to it: what one sends another
// receives without a network. Waits for all of them and throws what the first by rank has thrown;
// one that throws gives up.
void run_processes(Index count, const std::function<void(Processes&)>& work);

}  // namespace headlight::test
