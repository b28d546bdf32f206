#pragma once

#include <string>
#include <vector>

#include "cli/command_table.h"
#include "questions/question.h"

namespace headlight::cli {

// Returns the commands of the questions of a group.
std::vector<Command> question_commands(QuestionGroup group, const std::string& heading);

}  // namespace headlight::cli
