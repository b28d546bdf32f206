#include "cli/command_table.h"

#include "headlight/base/error.h"
#include "headlight/base/nearest_name.h"

namespace headlight::cli {

void print_commands(std::span<const Command> commands, std::ostream& out) {
  for (const Command& command : commands) {
    out << "  " << command.name << std::string(12 - std::string_view(command.name).size(), ' ')
        << command.summary << "\n";
  }
}

const Command& find_command(std::span<const Command> commands, const std::string& name,
                            std::string_view what, std::string_view help) {
  std::vector<std::string> known;
  for (const Command& command : commands) {
    if (name == command.name) {
      return command;
    }
    known.emplace_back(command.name);
  }
  fail(what, " '", name, "'", did_you_mean(name, known), " (see ", help, ")");
}

}  // namespace headlight::cli
