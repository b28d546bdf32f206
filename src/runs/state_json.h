#pragma once

#include <string>

#include "headlight/train/training_state.h"

namespace headlight {

// Returns the text of a checkpoint's state.json.
std::string to_state_json(const TrainingState& state);

// Parses the text of state.json. Throws a one-line Error that begins
// with `where` and names the member, for invalid text or contradictory numbers.
TrainingState parse_state_json(const std::string& text, const std::string& where);

}  // namespace headlight
