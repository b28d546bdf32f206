#pragma once

#include <filesystem>
#include <vector>

#include "cli/terminal/options.h"
#include "headlight/heads/patching.h"
#include "headlight/io/model_directory.h"

// What `headlight patch` does beyond one head at a time.
namespace headlight::cli {

// Whether an option asks for it. Throws Error for options that do not go together.
bool asks_for_grid(const Options& options);

// JSON lines {"clean", "corrupt", "answer", "wrong"}; tokens as text or as numbers "#42". Throws
// Error naming file and line.
std::vector<PatchingTask> read_pairs(const std::filesystem::path& path, const LoadedModel& loaded);

// Patches, prints and draws what the options say.
void patch_and_show_grid(const Options& options, const LoadedModel& loaded,
                         const std::vector<PatchingTask>& tasks);
void show_path(const Options& options, const LoadedModel& loaded, const PatchingTask& task);

}  // namespace headlight::cli
