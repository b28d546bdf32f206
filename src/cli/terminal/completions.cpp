#include <algorithm>

#include "base/strings/split.h"
#include "cli/terminal/command_help.h"

// Each script compares the words between the program's name and the cursor with a pattern for each
// command: "train *".
namespace headlight::cli {
namespace {

using Takes = OptionInfo::Takes;

constexpr std::string_view kBashBegin =
    R"(# Bash completion of headlight, written by: headlight --help bash
_headlight() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local words= options= paths=
  [[ $word == = ]] && word=
  [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
  before=${before//-/_} before=${before/#__/--}
  COMPREPLY=()
  case "${COMP_WORDS[*]:1:COMP_CWORD - 1} " in
)";

constexpr std::string_view kBashEnd = R"(  esac
  [[ $word == -* || -z $words$paths ]] && words=$options paths=
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  if [[ $paths ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -F _headlight headlight
)";

constexpr std::string_view kZshBegin = R"(#compdef headlight
# Zsh completion of headlight, written by: headlight --help zsh
_headlight() {
  local -a specs
  case "${(j: :)words[2,CURRENT-1]} " in
)";

constexpr std::string_view kZshEnd = R"(  esac
  _arguments $specs
}
_headlight "$@"
)";

constexpr std::string_view kFishBegin =
    R"(# Fish completion of headlight, written by: headlight --help fish
function __headlight_at
  set -l words (commandline -opc)
  string match -q -- $argv[1] "$words[2..-1] "
end
complete -c headlight -f
)";

// Returns the first clause of an option's help, up to "; ", " [" or " (", for lists of completions.
std::string clause_of(const OptionInfo& option) {
  std::size_t end = option.help.size();
  for (const char* mark : {"; ", " [", " ("}) {
    end = std::min(end, option.help.find(mark));
  }
  return option.help.substr(0, end);
}

bool takes_positional(const CommandInfo& info) {
  return info.positional_choices.empty() && !info.positional.empty();
}

std::string bash_part(const CommandInfo& info, const std::vector<OptionInfo>& options) {
  std::string all;
  std::string none;  // options whose values cannot be completed
  std::string text;
  for (const OptionInfo& option : options) {
    const std::string name = "--" + option.name;
    all += name + " ";
    if (!option.choices.empty() || option.is_path) {
      text += "        " + name + ") words='" + joined(option.choices, " ") + "'" +
              (option.is_path ? " paths=1" : "") + " ;;\n";
    } else if (option.takes != Takes::nothing) {
      none += (none.empty() ? "" : "|") + name;
    }
  }
  const bool is_table = options.empty();
  return "    '" + info.name + " '" + (is_table ? "" : "*") + ")\n      case $before in\n" + text +
         (none.empty() ? "" : "        " + none + ") ;;\n") + "        *) options='" + all +
         "' words='" + joined(info.positional_choices, " ") + "'" +
         (takes_positional(info) ? " paths=1" : "") + " ;;\n      esac ;;\n";
}

// Puts a backslash before each of the given characters.
std::string with_backslashes(std::string_view text, std::string_view marks) {
  std::string result;
  for (const char c : text) {
    result += (marks.find(c) == std::string_view::npos ? "" : "\\") + std::string(1, c);
  }
  return result;
}

// Escapes a description in a single-quoted specification of _arguments.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : with_backslashes(text, "[]:\\")) {
    result += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return result;
}

std::string zsh_spec(const OptionInfo& option) {
  const bool may_repeat = option.takes == Takes::values;
  const bool is_optional = option.takes == Takes::value_or_nothing;
  const std::string_view value = option.takes == Takes::nothing ? "" : is_optional ? "=-" : "=";
  std::string spec = (may_repeat ? "*--" : "--") + option.name + std::string(value) + "[" +
                     zsh_text(clause_of(option)) + "]";
  if (option.takes != Takes::nothing) {
    spec += std::string(is_optional ? "::" : ":") + "value:" +
            (option.is_path           ? "_files"
             : option.choices.empty() ? " "
                                      : "(" + joined(option.choices, " ") + ")");
  }
  return "      '" + spec + "'\n";
}

std::string zsh_part(const CommandInfo& info, const std::vector<OptionInfo>& options) {
  std::string text = "    ('" + info.name + " '" + (options.empty() ? "" : "*") + ") specs=(\n";
  for (const OptionInfo& option : options) {
    text += zsh_spec(option);
  }
  if (takes_positional(info)) {
    text += "      '*:argument:_files'\n";
  } else if (!info.positional.empty()) {
    text += "      '*:argument:(" + joined(info.positional_choices, " ") + ")'\n";
  }
  return text + "    ) ;;\n";
}

std::string fish_line(const CommandInfo& info, bool is_table, const std::string& rest) {
  return "complete -c headlight -n \"__headlight_at '" + info.name + (is_table ? " '" : " *'") +
         "\" " + rest + "\n";
}

std::string fish_part(const CommandInfo& info, const std::vector<OptionInfo>& options) {
  std::string text;
  for (const OptionInfo& option : options) {
    const bool needs_value = option.takes == Takes::value || option.takes == Takes::values;
    std::string rest = "-l " + option.name;
    rest += !needs_value ? "" : option.is_path ? " -r" : " -x";
    rest += option.is_path ? " -F" : "";
    rest += option.choices.empty() ? "" : " -a '" + joined(option.choices, " ") + "'";
    text +=
        fish_line(info, false, rest + " -d '" + with_backslashes(clause_of(option), "'\\") + "'");
  }
  if (takes_positional(info)) {
    text += fish_line(info, options.empty(), "-F");
  } else if (!info.positional.empty()) {
    text += fish_line(info, options.empty(), "-a '" + joined(info.positional_choices, " ") + "'");
  }
  return text;
}

}  // namespace

CompletionScript completion_script(HelpForm shell) {
  return shell == HelpForm::bash  ? CompletionScript{kBashBegin, bash_part, kBashEnd}
         : shell == HelpForm::zsh ? CompletionScript{kZshBegin, zsh_part, kZshEnd}
                                  : CompletionScript{kFishBegin, fish_part, ""};
}

}  // namespace headlight::cli
