#pragma once

#include "questions/question.h"

namespace headlight {

// The edges between heads and MLPs that a task uses.
const Question& circuit_question();

}  // namespace headlight
