#pragma once

#include <string>

#include "headlight/cluster/processes.h"

// What the part of Headlight that is linked to a launcher's library says to the program. It is a
// shared library of its own, so that the program neither needs that library nor waits for it.
namespace headlight::cluster {

// One table, which the plug-in exports under this name. `version` is the
// first member for good; nothing else is read when it is not the program's own.
inline constexpr const char* kPlugInSymbol = "headlight_processes_plug_in";

struct PlugIn {
  const char* version;
  // Both may throw Error.
  std::unique_ptr<Processes> (*open)();
  std::string (*describe)();
};

}  // namespace headlight::cluster
