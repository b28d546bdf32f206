#include "cli/command_table.h"

#include <iostream>

#include "base/transformed.h"
#include "cli/terminal/options.h"
#include "headlight/base/nearest_name.h"

namespace headlight::cli {
namespace {

bool is_help(const std::string& word) { return word == "--help" || word == "-h" || word == "help"; }

std::vector<std::string> names_of(const std::vector<Command>& commands) {
  return transformed(commands, &Command::name);
}

std::string listed_commands(const std::vector<Command>& commands) {
  std::string text;
  std::string_view group;
  for (const Command& command : commands) {
    if (command.group != group) {
      group = command.group;
      text += (text.empty() ? "" : "\n") + command.group + ":\n";
    }
    text +=
        "  " + command.name + std::string(12 - command.name.size(), ' ') + command.summary + "\n";
  }
  return text;
}

const Command& find_command(const CommandTable& table, const std::string& name) {
  for (const Command& command : table.commands) {
    if (name == command.name) {
      return command;
    }
  }
  const std::string& parent = table.info.name;
  fail(parent.empty() ? "unknown command" : parent + ": unknown subcommand", " '", name, "'",
       did_you_mean(name, names_of(table.commands)), " (see headlight ",
       parent.empty() ? "" : parent + " ", "--help)");
}

void print_completions(const CommandTable& table, HelpForm shell, std::ostream& out) {
  const bool is_program = table.info.name.empty();
  const CompletionScript script = completion_script(shell);
  out << (is_program ? script.begin : "");
  CommandInfo info = table.info;
  info.positional_choices = names_of(table.commands);
  info.positional_choices.emplace_back("--help");
  if (is_program) {
    info.positional_choices.insert(info.positional_choices.end(), {"--version", "help"});
  }
  out << script.part(info, {});
  if (is_program) {
    info.name = "help";
    out << script.part(info, {});
  }
  for (const Command& command : table.commands) {
    command.run({"--help", std::string(name_of(shell))});
  }
  out << (is_program ? script.end : "");
}

}  // namespace

void print_usage(const CommandTable& table, HelpForm form, std::ostream& out) {
  if (form != HelpForm::standard && form != HelpForm::all && form != HelpForm::man) {
    print_completions(table, form, out);
    return;
  }
  CommandInfo info = table.info;
  info.details = listed_commands(table.commands) + "\n" + info.details;
  out << Options(info).help(form);
}

int run_table(const CommandTable& table, const Words& words) {
  const bool asks_for_help = is_help(words[0]);
  if (!asks_for_help) {
    return find_command(table, words[0]).run({words.begin() + 1, words.end()});
  }
  if (words.size() == 1) {
    print_usage(table, HelpForm::standard, std::cout);
  } else if (const auto form = help_form(words[1])) {
    print_usage(table, *form, std::cout);
  } else {
    Words rest{"--help"};
    rest.insert(rest.end(), words.begin() + 2, words.end());
    return find_command(table, words[1]).run(rest);
  }
  return 0;
}

}  // namespace headlight::cli
