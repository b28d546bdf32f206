#include "cli/terminal/command_help.h"

#include <algorithm>
#include <sstream>

// Options are parsed elsewhere; regular expressions take longer to compile than this folder.
#define CXXOPTS_NO_REGEX
#include <cxxopts.hpp>

#include "show/report/parts/terminal_text.h"

namespace headlight::cli {
namespace {

using Takes = OptionInfo::Takes;

constexpr std::size_t kColumns = 80;
constexpr std::ptrdiff_t kLongHelp = 80;  // lines

constexpr std::string_view kModelHelp =
    "MODEL is a run directory, a checkpoint, a Hugging Face directory, a GGUF file or nanoGPT's "
    "ckpt.pt.";

// Paragraph, or consecutive lines that keep their layout.
struct TextBlock {
  bool is_literal = false;
  bool follows_blank_line = false;
  std::string text;
};

std::vector<TextBlock> text_blocks(const std::string& details) {
  std::vector<TextBlock> blocks;
  std::istringstream lines(details);
  bool begins = true;
  for (std::string line; std::getline(lines, line);) {
    const bool is_literal = line.starts_with(' ');
    if (!line.empty() && (begins || is_literal != blocks.back().is_literal)) {
      blocks.push_back({is_literal, begins, ""});
    }
    begins = line.empty();
    if (!line.empty()) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

// Headings in the order of the help.
std::vector<std::string> option_groups(const std::vector<OptionInfo>& options) {
  std::vector<std::string> groups;
  for (const OptionInfo& option : options) {
    if (std::ranges::find(groups, option.group) == groups.end()) {
      groups.push_back(option.group);
    }
  }
  std::stable_partition(groups.begin(), groups.end(),
                        [](const std::string& group) { return group != kCommonGroup; });
  return groups;
}

// Details with the description of MODEL, if the command takes one.
std::string full_details(const CommandInfo& info) {
  const bool takes_model = info.positional.find("MODEL") != std::string::npos;
  return info.details + (takes_model ? "\n\n" + std::string(kModelHelp) : "");
}

std::string laid_out(const std::string& details) {
  std::string text;
  for (const TextBlock& block : text_blocks(details)) {
    text += block.follows_blank_line ? "\n" : "";
    text += block.is_literal ? block.text : wrapped(block.text, kColumns);
  }
  return text;
}

std::string value_name(const OptionInfo& option) {
  const std::string value = option.is_path ? "PATH" : "VALUE";
  return option.takes == Takes::nothing            ? ""
         : option.takes == Takes::value_or_nothing ? "[" + value + "]"
                                                   : value;
}

// Lists options under their headings. cxxopts lays out names, defaults and wrapped help texts.
std::string option_list(const std::vector<OptionInfo>& options) {
  cxxopts::Options layout("");
  layout.set_width(kColumns).custom_help("");
  for (const OptionInfo& option : options) {
    const auto value =
        option.takes == Takes::nothing ? cxxopts::value<bool>() : cxxopts::value<std::string>();
    layout.add_options(option.group)(
        option.name, option.help,
        option.fallback.empty() ? value : value->default_value(option.fallback),
        value_name(option));
  }
  std::string text;
  for (const std::string& group : option_groups(options)) {
    std::string list = layout.help({group}, false);
    list.erase(0, list.find_first_not_of('\n'));
    text += "\n" + (group.empty() ? "Options:\n" + list : list.substr(1));
  }
  return text;
}

std::string short_option_list(const CommandInfo& info, const std::vector<OptionInfo>& options) {
  std::vector<OptionInfo> basic;
  std::ranges::copy_if(options, std::back_inserter(basic), &OptionInfo::is_basic);
  for (OptionInfo& option : basic) {
    option.group.clear();
  }
  return option_list(basic) + "\n" +
         wrapped("headlight " + (info.name.empty() ? "" : info.name + " ") +
                     "--help all shows all " + std::to_string(options.size()) +
                     " options, and more about the output.",
                 kColumns);
}

std::string usage_of(const CommandInfo& info) {
  return "Usage: headlight" + (info.name.empty() ? "" : " " + info.name) +
         (info.positional.empty() ? "" : " " + info.positional) + " [options]\n\n" +
         wrapped(info.summary, kColumns);
}

std::string end_of(const CommandInfo& info) {
  std::string text = "\nExamples:\n";
  for (const std::string& example : info.examples) {
    text += "  " + example + "\n";
  }
  const std::string more =
      info.exit_codes.empty() ? ".\n" : ",\n" + wrapped(info.exit_codes + ".", kColumns);
  return text + "\nExit codes: 0 success, 1 failure, 2 bad input (one line on stderr names it)" +
         more;
}

// Escapes characters that have a meaning in roff.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins_line = escaped.empty() || escaped.back() == '\n';
    escaped += begins_line && (c == '.' || c == '\'') ? "\\&" : "";
    escaped += c == '\\' ? "\\e" : c == '-' ? "\\-" : c == '\'' ? "\\(aq" : std::string(1, c);
  }
  return escaped;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }

std::string literal(const std::string& text) { return ".PP\n.nf\n" + roff(text) + ".fi\n"; }

std::string page_of(const std::string& command) {
  std::string page = command.empty() ? "headlight" : "headlight-" + command;
  std::ranges::replace(page, ' ', '-');
  return page;
}

std::string title_of(const CommandInfo& info) {
  const std::string page = page_of(info.name);
  std::string title = page;
  std::ranges::transform(title, title.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string summary = info.summary;
  summary.resize(summary.size() - (summary.ends_with('.') ? 1 : 0));
  return ".TH \"" + roff(title) +
         "\" 1 \"\" \"Headlight " HEADLIGHT_VERSION "\" \"User Commands\"\n.SH NAME\n" +
         roff(page) + " \\- " + roff(summary) + "\n";
}

std::string synopsis_of(const CommandInfo& info) {
  return ".SH SYNOPSIS\n" + bold("headlight" + (info.name.empty() ? "" : " " + info.name)) + " " +
         roff(info.positional + (info.positional.empty() ? "" : " ")) + "[options]\n";
}

std::string description_of(const CommandInfo& info) {
  std::string text = ".SH DESCRIPTION\n" + roff(info.summary) + "\n";
  for (const TextBlock& block : text_blocks(full_details(info))) {
    text += block.is_literal ? literal(block.text) : ".PP\n" + roff(block.text);
  }
  return text;
}

std::string option_entry(const OptionInfo& option) {
  std::string text = ".TP\n" + bold("--" + option.name);
  if (option.takes != Takes::nothing) {
    const bool is_optional = option.takes == Takes::value_or_nothing;
    const std::string value = option.is_path ? "PATH" : "VALUE";
    text += is_optional ? "[=\\fI" + value + "\\fR]" : " \\fI" + value + "\\fR";
  }
  return text + "\n" + roff(option.help) +
         (option.fallback.empty() ? "" : " (default: " + roff(option.fallback) + ")") + "\n";
}

std::string options_of(const std::vector<OptionInfo>& options) {
  std::string text = ".SH OPTIONS\n";
  for (const std::string& group : option_groups(options)) {
    text += group.empty() ? "" : ".SS " + roff(group) + " options\n";
    for (const OptionInfo& option : options) {
      text += option.group == group ? option_entry(option) : "";
    }
  }
  return text;
}

std::string sections_after_options(const CommandInfo& info) {
  std::string text =
      ".SH EXIT STATUS\n0 success, 1 failure, 2 bad input (one line on standard "
      "error names it)" +
      roff(info.exit_codes.empty() ? "" : ", " + info.exit_codes) + ".\n.SH EXAMPLES\n";
  for (const std::string& example : info.examples) {
    text += literal(example + "\n");
  }
  return text + (info.name.empty() ? "" : ".SH SEE ALSO\n.BR headlight (1)\n");
}

}  // namespace

std::optional<HelpForm> help_form(std::string_view word) {
  const auto* found = std::ranges::find(kChoices<HelpForm>, word, &Choice<HelpForm>::name);
  return found == kChoices<HelpForm>.end() ? std::nullopt : std::optional(found->value);
}

std::string help_text(const CommandInfo& info, const std::vector<OptionInfo>& options, bool all) {
  std::string text =
      usage_of(info) + laid_out(full_details(info)) + option_list(options) + end_of(info);
  if (all || info.name.empty() || std::ranges::count(text, '\n') <= kLongHelp) {
    return text;
  }
  CommandInfo brief = info;
  brief.details = info.details.substr(0, info.details.find("\n\n"));
  return usage_of(info) + laid_out(full_details(brief)) + short_option_list(info, options) +
         end_of(info);
}

std::string manual_page(const CommandInfo& info, const std::vector<OptionInfo>& options) {
  return title_of(info) + synopsis_of(info) + description_of(info) + options_of(options) +
         sections_after_options(info);
}

}  // namespace headlight::cli
