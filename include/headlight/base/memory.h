#pragma once

#include <string>

namespace headlight {

// Bytes of memory that this process could still get without pushing others out: what the system has
// available, or less if its control group or its limit of addresses (ulimit -v) allows less; 0:
// unknown.
double available_memory();

// "5 MB, and 3 MB are free" when the machine is known not to have so many bytes, else "".
std::string missing_memory(double bytes);

// The most memory that this process has had in use at once, in bytes (peak resident set); 0:
// unknown.
double peak_memory();

}  // namespace headlight
