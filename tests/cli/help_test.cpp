#include <sstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/program.h"

namespace help_test {

namespace {

// Names in the list under "Commands:" or "Subcommands:" of a help text.
std::vector<std::string> listed_commands(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines(help.substr(help.find("ommands:\n")));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  ", 0) == 0 && line.size() > 2 && line[2] != ' ') {
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
  }
  return names;
}

// Arguments that call each command, with each subcommand of tokenizer.
std::vector<std::vector<std::string>> all_commands() {
  std::vector<std::vector<std::string>> commands;
  for (const std::string& name : listed_commands(run_headlight({"--help"}).out)) {
    if (name != "tokenizer") {
      commands.push_back({name});
    }
  }
  for (const std::string& name : listed_commands(run_headlight({"tokenizer", "--help"}).out)) {
    commands.push_back({"tokenizer", name});
  }
  return commands;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("The help of every command tells its JSON keys and exit codes and gives an example") {
  const std::vector<std::vector<std::string>> commands = all_commands();
  REQUIRE(commands.size() >= 18);
  for (std::vector<std::string> command : commands) {
    command.push_back("--help");
    const ProgramResult result = run_headlight(command);
    INFO("headlight " << command[0] << " " << command[1]);
    CHECK(result.exit_code == 0);
    CHECK(result.err.empty());
    CHECK(contains(result.out, "JSON keys"));
    CHECK(contains(result.out, "Exit codes: 0 success, 1 failure, 2 bad input"));
    CHECK(contains(result.out, "Examples:\n  headlight " + command[0]));
  }
}

}  // namespace help_test
