#pragma once

#include "questions/question.h"

namespace headlight {

const Question& attribute_question();

}  // namespace headlight
