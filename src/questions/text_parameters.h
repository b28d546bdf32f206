#pragma once

#include <string_view>
#include <vector>

#include "questions/parameter.h"

// Parameters of the texts that questions read.
namespace headlight {

// Returns the parameter "text", which must be given unless `unless` is.
Parameter text_parameter(std::string_view unless);
// Returns data, documents and batch_size. `unless`: as above; "": data must be given.
std::vector<Parameter> text_data_parameters(std::string_view unless = {});
Parameter layers_parameter();
Parameter positions_parameter();

}  // namespace headlight
