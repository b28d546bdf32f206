#pragma once

#include <string_view>
#include <vector>

#include "headlight/nn/point.h"
#include "questions/arguments.h"
#include "questions/parameter.h"

// Parameters that several questions have: texts, and parts of the model.
namespace headlight {

// Returns the parameter "text", which must be given unless `unless` is.
Parameter text_parameter(std::string_view unless);
// Returns data, documents and batch_size. `unless`: as above; "": data must be given.
std::vector<Parameter> text_data_parameters(std::string_view unless = {});
Parameter heads_parameter();
Parameter layers_parameter();
Parameter positions_parameter();
// Return "point" and "by" with the choices of a question.
Parameter point_parameter(Point fallback, std::vector<std::string_view> choices);
Parameter by_parameter(std::vector<std::string_view> choices, std::string_view fallback = {});

// Returns "method" with the choices of a question.
Parameter method_parameter(std::vector<std::string_view> choices, std::string_view fallback);
// Returns "top_k", a number of tokens.
Parameter top_k_parameter();
Parameter seed_parameter(std::vector<std::string_view> needs = {});
// Returns "memory" in MiB.
Parameter memory_parameter(std::vector<std::string_view> needs = {});
// Returns its bytes; 0: not given.
Index memory_of(const Arguments& arguments);

}  // namespace headlight
