#pragma once

#include <string>

namespace headlight {

// Returns the bytes that this process can still allocate without swapping: the system's available
// memory, or less if its control group or address-space limit (ulimit -v) allows less; 0: unknown.
double available_memory();

// Returns "5 MB, and 3 MB are free" if the machine has fewer than `bytes` free, else "".
std::string missing_memory(double bytes);

// Returns the process's peak memory use (peak resident set) in bytes; 0: unknown.
double peak_memory();

// Returns memory that free() has received to the system, where the C library can. Takes about a
// millisecond.
void release_free_memory();

}  // namespace headlight
