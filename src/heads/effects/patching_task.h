#pragma once

#include "headlight/heads/patching.h"

namespace headlight {

// Throws Error as patch_heads() says.
void check_task(const PatchingTask& task, const LanguageModel& model);

// Throws Error about "corrupt" unless the two differ and are finite.
void require_different(double clean_difference, double corrupt_difference);

}  // namespace headlight
