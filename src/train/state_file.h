#pragma once

#include <string>

#include "headlight/train/training_state.h"

namespace headlight {

// state.json of a checkpoint, as text.
std::string to_state_json(const TrainingState& state);

// Throws Error, one line that begins with `where` and names the member, for text that
// to_state_json, of this version or an earlier one, would not write.
TrainingState parse_state_json(const std::string& text, const std::string& where);

}  // namespace headlight
