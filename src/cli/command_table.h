#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::cli {

// One of several that are chosen by name.
struct Command {
  const char* name;
  const char* summary;
  int (*run)(const std::vector<std::string>& arguments);
};

// A line each, as --help has them.
void print_commands(std::span<const Command> commands, std::ostream& out);

// Throws Error for a name that is none of theirs: "WHAT 'NAME'", and "see HELP".
const Command& find_command(std::span<const Command> commands, const std::string& name,
                            std::string_view what, std::string_view help);

}  // namespace headlight::cli
