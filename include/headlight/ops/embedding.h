#pragma once

#include <optional>

#include "headlight/tensor/tensor.h"

namespace headlight {

// Returns rows of weight [V, C] for ids [...] int32, as [..., C]. The row padding_index receives no
// gradient. Throws Error for an id outside 0 ... V - 1.
Tensor embedding(const Tensor& weight, const Tensor& ids,
                 std::optional<Index> padding_index = std::nullopt);

}  // namespace headlight
