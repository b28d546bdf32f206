#pragma once

#include <map>
#include <string>
#include <vector>

namespace headlight::test {

// True when mpirun is installed.
bool has_launcher();

// The beginning of a command line that starts a program in so many processes, all on this machine,
// however few processors it has; 1: the program without a launcher.
std::vector<std::string> launched(const std::string& program, int processes);

// What mpirun wants to know to run in a container and as root.
const std::map<std::string, std::string>& launcher_environment();

}  // namespace headlight::test
