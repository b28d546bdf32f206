#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/nn/point.h"
#include "headlight/tensor/named_tensors.h"
#include "python/autograd/arrays.h"
#include "python/model/model.h"

// Values at points by their names.
namespace headlight::python {

// Parses names of points; none: all points. Throws Error about "names".
std::vector<PointRange> points_of(const std::optional<std::vector<std::string>>& names);

// Returns an ActivationCache of values [N, ...] by name, as [B, T, ...], for sequences of token
// ids. Maps have the names NAME/0, NAME/1 ... of their sequences and become [B, H, T, T].
nb::object activation_cache(const Model& model, const NamedTensors& tensors,
                            const std::vector<std::vector<std::int32_t>>& ids);

}  // namespace headlight::python
