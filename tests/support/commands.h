#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Commands of the program as tests ask them.
namespace headlight::test {

using Arguments = std::vector<std::string>;

// These arguments and then those, whose options take the place of the same ones before: an option
// is given once.
Arguments changed(Arguments arguments, const Arguments& more);

// What a command that must succeed puts out.
std::string output_of(const Arguments& arguments);

// The same with --json, parsed.
nlohmann::json report_of(Arguments arguments);

// The last message of a command that must be refused, without output; it starts with "error: ".
std::string refusal(const Arguments& arguments);

// Checks that a command is refused with one message that has all the parts.
void check_refused(const Arguments& arguments, const std::vector<std::string>& parts);

}  // namespace headlight::test
