#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headlight/nn/gpt_config.h"

namespace headlight {

// Names and shapes of what Gpt::parameters() would hold, in its order, without making the model: a
// file is compared with its configuration before memory of its size is taken.
// Throws Error when the configuration does not validate.
std::vector<std::pair<std::string, Shape>> parameter_shapes(const GptConfig& config);

}  // namespace headlight
