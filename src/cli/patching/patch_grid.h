#pragma once

#include <vector>

#include "cli/terminal/options.h"
#include "cli/terminal/result_files.h"
#include "headlight/heads/patching.h"
#include "headlight/io/model_directory.h"

// What `headlight patch` does beyond one head at a time.
namespace headlight::cli {

// Whether an option asks for it. Throws Error for options that do not go together.
bool asks_for_grid(const Options& options);

// Patches, prints and draws what the options say.
void patch_and_show_grid(const Options& options, const LoadedModel& loaded,
                         const ResultFiles& files);
void show_path(const Options& options, const LoadedModel& loaded, const PatchingTask& task);

}  // namespace headlight::cli
