#pragma once

#include <vector>

#include "cli/terminal/options.h"
#include "headlight/heads/patching.h"
#include "headlight/io/model_directory.h"

// What `headlight patch` does beyond one head at a time.
namespace headlight::cli {

// Whether an option asks for it. Throws Error for options that do not go together.
bool asks_for_grid(const Options& options);

// --clean, --corrupt, --answer, --wrong, and --pairs in their place: JSON lines with these keys.
// Tokens are given as text or as numbers, "#42".
void add_pair_options(Options& options);
// The one pair of texts; tokens that are not given are the likeliest.
PatchingTask task_option(const Options& options, const LoadedModel& loaded);
// The pair, or those of the file. Throws Error naming file and line.
std::vector<PatchingTask> pair_options(const Options& options, const LoadedModel& loaded);

// Patches, prints and draws what the options say.
void patch_and_show_grid(const Options& options, const LoadedModel& loaded,
                         const std::vector<PatchingTask>& tasks);
void show_path(const Options& options, const LoadedModel& loaded, const PatchingTask& task);

}  // namespace headlight::cli
