#pragma once

#include <vector>

#include "headlight/nn/batch.h"

namespace headlight {

// A batch to learn from: of a sequence with n tokens the inputs are tokens 0 ... n - 2 and the
// targets tokens 1 ... n - 1, so that every position has a target. A sequence of fewer than two
// tokens has nothing to predict and is left out. The sequences are padded with `pad_id` and the
// pads removed again, which no value of `pad_id` can change. Throws Error when no target is left.
Batch training_batch(const std::vector<std::vector<std::int32_t>>& sequences,
                     std::int32_t pad_id = 0);

// Share of the rectangle [B, longest sequence] that would be pads, 0 ... 1.
double padding_fraction(const Batch& batch);

}  // namespace headlight
