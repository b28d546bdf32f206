#pragma once

#include <ctime>
#include <string>

#include "formats/jinja/syntax.h"

namespace headlight::jinja {

// Returns the output of a template. `variables` is an object. Throws Error with the line.
std::string render(const Node& body, const Json& variables, const std::tm& now);

}  // namespace headlight::jinja
