#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Runs of the program, with the results that tests check.
namespace headlight::test {

using Arguments = std::vector<std::string>;

// Adds `more` to the arguments. Options in `more` replace equal options: each may be given once.
Arguments changed(Arguments arguments, const Arguments& more);

// Output of a command that must succeed.
std::string output_of(const Arguments& arguments);

// Parsed output of a command with --json.
nlohmann::json report_of(Arguments arguments);

// Last message of a command that must be refused without output. It begins with "error: ".
std::string refusal(const Arguments& arguments);

// Checks that a command is refused with one message that has all parts.
void check_refused(const Arguments& arguments, const std::vector<std::string>& parts);

}  // namespace headlight::test
