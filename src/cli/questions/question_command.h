#pragma once

#include <string>
#include <vector>

#include "questions/question.h"

namespace headlight::cli {

// Runs the command of a question: reads its parameters as options, prints the result as a table or,
// with --json, as JSON, and writes the files of --svg, --png, --npz, --html and of its chart.
int run_question(const Question& question, const std::vector<std::string>& words);

}  // namespace headlight::cli
