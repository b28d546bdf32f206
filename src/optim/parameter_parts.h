#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/tensor/element_range.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

// Returns the elements of a parameter in `parts`; without parts all. Throws Error for a part
// outside the parameter.
std::vector<ElementRange> ranges_of(const std::optional<TensorParts>& parts,
                                    const std::string& name, const Tensor& parameter);

// Returns zeros for the moments of these elements; in the parameter's shape if they are complete.
Tensor zeros_for(const std::vector<ElementRange>& ranges, const Tensor& parameter);

}  // namespace headlight
