#pragma once

#include <map>
#include <string>
#include <vector>

namespace headlight::test {

// True when mpirun is installed and the program was built with MPI.
bool has_launcher();

// Beginning of a command line that starts a program in `processes` processes on this machine, even
// with fewer processors. 1: no launcher.
std::vector<std::string> launched(const std::string& program, int processes);

// Environment that mpirun needs in a container and as root.
const std::map<std::string, std::string>& launcher_environment();

}  // namespace headlight::test
