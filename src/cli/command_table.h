#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::cli {

// Command that users choose by name.
struct Command {
  const char* name;
  const char* summary;
  int (*run)(const std::vector<std::string>& arguments);
};

// Prints one line for each command, as in --help.
void print_commands(std::span<const Command> commands, std::ostream& out);

// Finds a command by name. Throws Error for an unknown name: "WHAT 'NAME'", and "see HELP".
const Command& find_command(std::span<const Command> commands, const std::string& name,
                            std::string_view what, std::string_view help);

}  // namespace headlight::cli
