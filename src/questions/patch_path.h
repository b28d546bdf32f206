#pragma once

#include "questions/question.h"

namespace headlight {

// Answers the question patch for the path in the parameter "path".
QuestionResult patch_one_path(const Asker& asker, const Arguments& arguments);

}  // namespace headlight
