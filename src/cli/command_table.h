#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/terminal/command_help.h"

namespace headlight::cli {

struct Command {
  std::string group;  // heading in the help; empty: none
  std::string name;
  std::string summary;
  std::function<RunCommand> run;
};

// Commands of the program, or subcommands of a command. `info.details` is the text before the list.
struct CommandTable {
  CommandInfo info;
  std::vector<Command> commands;
};

// Runs the command that the first word names and returns its exit code. Prints help for --help,
// -h and help, alone or followed by a command. Throws Error for unknown commands.
int run_table(const CommandTable& table, const Words& words);

// Prints the help that lists the commands.
void print_usage(const CommandTable& table, HelpForm form, std::ostream& out);

}  // namespace headlight::cli
