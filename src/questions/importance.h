#pragma once

#include "questions/question.h"

namespace headlight {

const Question& importance_question();

}  // namespace headlight
