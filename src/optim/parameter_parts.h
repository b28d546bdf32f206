#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/tensor/element_range.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

// The elements of a parameter that an optimizer with these parts is for: without parts all of them.
// Throws Error when a part lies outside of the parameter.
std::vector<ElementRange> ranges_of(const std::optional<TensorParts>& parts,
                                    const std::string& name, const Tensor& parameter);

// Zeros for the moments of these elements: in the parameter's shape when it is all of them.
Tensor zeros_for(const std::vector<ElementRange>& ranges, const Tensor& parameter);

}  // namespace headlight
