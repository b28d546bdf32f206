#pragma once

#include <string>

#include "headlight/distributed/processes.h"

// Interface between the program and its MPI plug-in. The plug-in is a shared library of its own, so
// that the program neither needs MPI nor waits for it to load.
namespace headlight::cluster {

// Name of the table that the plug-in exports. `version` is always the first member. The program
// reads the others only if it equals its own version.
inline constexpr const char* kPlugInSymbol = "headlight_processes_plug_in";

struct PlugIn {
  const char* version;
  // Both may throw Error.
  std::unique_ptr<Processes> (*open)();
  std::string (*describe)();
};

}  // namespace headlight::cluster
