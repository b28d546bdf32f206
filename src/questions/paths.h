#pragma once

#include "questions/question.h"

namespace headlight {

const Question& paths_question();

}  // namespace headlight
