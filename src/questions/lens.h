#pragma once

#include "questions/question.h"

namespace headlight {

const Question& lens_question();

}  // namespace headlight
