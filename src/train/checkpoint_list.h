#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tensor/shape.h"

namespace headlight {

// One RUN/step_XXXXXXXX, complete or not.
struct CheckpointEntry {
  std::filesystem::path path;
  Index iteration = 0;
};

std::string checkpoint_name(Index iteration);
bool is_checkpoint_name(std::string_view name);

// Newest first. Throws Error when the directory cannot be listed.
std::vector<CheckpointEntry> checkpoints_of(const std::filesystem::path& run);

// Throws Error, saying why, unless everything that the manifest lists is there as it was written.
void verify_checkpoint(const std::filesystem::path& path);

struct PruneOptions {
  Index keep = 2;
  // Updates whose checkpoints were found damaged when the run was resumed from an older one. They
  // do not count as kept, and go when the run is past them.
  std::vector<Index> passed_over = {};
};

// Removes all but the newest `keep` of the checkpoints up to `iteration` and the one that RUN/best
// leads to. Those after it, which a run that went on from an older one has yet to replace, stay.
void remove_old_checkpoints(const std::filesystem::path& run, Index iteration,
                            const PruneOptions& options);

}  // namespace headlight
