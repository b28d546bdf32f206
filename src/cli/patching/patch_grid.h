#pragma once

#include <array>
#include <string_view>

#include "cli/terminal/options.h"
#include "cli/terminal/result_files.h"
#include "headlight/formats/model_directory.h"
#include "headlight/interpret/effects/patching.h"

// Modes of `headlight patch` other than one head at a time.
namespace headlight::cli {

// Values of --method.
inline constexpr std::array<std::string_view, 3> kPatchMethods{"patch", "attribution", "both"};

// True if an option asks for a grid. Throws Error for conflicting options.
bool asks_for_grid(const Options& options);

// Patches, prints and draws the grid that the options describe.
void patch_and_show_grid(const Options& options, const LoadedModel& loaded,
                         const ResultFiles& files);
void show_path(const Options& options, const LoadedModel& loaded, const PatchingTask& task);

}  // namespace headlight::cli
