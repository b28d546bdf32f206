#pragma once

#include <vector>

#include "headlight/nn/batch.h"

namespace headlight {

// How many tokens of each sequence have a target, [B].
std::vector<double> target_counts(const Batch& batch);

}  // namespace headlight
