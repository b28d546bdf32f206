#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/choices.h"

// Help texts, manual pages and shell completions of commands.
namespace headlight::cli {

// Description of a command.
struct CommandInfo {
  std::string name;     // "generate"; empty for the program itself
  std::string summary;  // one line
  // Positional argument: "MODEL"; "[MODEL]" if optional; "[FILE ...]" if repeatable; empty: none.
  std::string positional;
  // Paragraphs on effect and output, with JSON keys. Line breaks count only at blank lines and
  // around lines that begin with a blank. Long commands show only the first paragraph by default.
  std::string details;
  std::vector<std::string> examples;  // whole command lines
  std::string exit_codes = {};        // besides the common ones
  // Words that shells offer as positional argument; empty: files.
  std::vector<std::string> positional_choices = {};
};

struct OptionInfo {
  enum class Takes { nothing, value, value_or_nothing, values };
  std::string name;
  std::string help;
  Takes takes = Takes::nothing;
  std::string fallback = {};              // default value; empty: none
  std::string group = {};                 // "Run and data": its heading ends with " options"
  std::vector<std::string> choices = {};  // values that shells offer
  bool is_choice = false;                 // takes no other values than `choices`
  bool is_path = false;                   // shells offer files
  bool is_basic = false;                  // in the short help of a command with many options
  std::vector<std::string> values = {};   // given by the user; "" for a flag
};

// Form of a help text. All but `standard` have a name, which is the word after --help.
enum class HelpForm { standard, all, man, bash, zsh, fish };

// Returns the form with this name; none for other words.
std::optional<HelpForm> help_form(std::string_view word);

// Group of the options that every command has. It comes last.
inline constexpr std::string_view kCommonGroup = "Common";

// Returns the text of --help. If it is long, leaves out all but the basic options and the first
// paragraph, unless `all`.
std::string help_text(const CommandInfo& info, const std::vector<OptionInfo>& options, bool all);

// Returns the page for man(1), in section 1.
std::string manual_page(const CommandInfo& info, const std::vector<OptionInfo>& options);

// A completion script: `part` completes one command, between a beginning and an end.
struct CompletionScript {
  std::string_view begin;
  std::string (*part)(const CommandInfo& info, const std::vector<OptionInfo>& options);
  std::string_view end;
};
CompletionScript completion_script(HelpForm shell);

}  // namespace headlight::cli

namespace headlight {

template <>
inline constexpr auto kChoices<cli::HelpForm> =
    std::to_array<Choice<cli::HelpForm>>({{"all", cli::HelpForm::all},
                                          {"man", cli::HelpForm::man},
                                          {"bash", cli::HelpForm::bash},
                                          {"zsh", cli::HelpForm::zsh},
                                          {"fish", cli::HelpForm::fish}});

}  // namespace headlight
