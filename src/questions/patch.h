#pragma once

#include "questions/question.h"

namespace headlight {

// Activation patching of a grid of parts, and of one path.
const Question& patch_question();

}  // namespace headlight
