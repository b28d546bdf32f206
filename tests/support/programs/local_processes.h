#pragma once

#include <functional>

#include "headlight/distributed/processes.h"

namespace headlight::test {

// Calls `work` on `count` threads that act as processes and exchange messages without a network.
// Waits for all threads. Then throws the exception of the lowest rank. A thread that throws gives
// up.
void run_processes(Index count, const std::function<void(Processes&)>& work);

}  // namespace headlight::test
