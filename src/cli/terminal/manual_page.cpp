#include <algorithm>
#include <sstream>

#include "cli/terminal/command_help.h"

namespace headlight::cli {
namespace {

using Takes = OptionInfo::Takes;

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
  std::replace(page.begin(), page.end(), ' ', '-');
  return page;
}

std::string title_of(const CommandInfo& info) {
  const std::string page = page_of(info.name);
  std::string title = page;
  std::transform(title.begin(), title.end(), title.begin(),
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

std::string manual_page(const CommandInfo& info, const std::vector<OptionInfo>& options) {
  return title_of(info) + synopsis_of(info) + description_of(info) + options_of(options) +
         sections_after_options(info);
}

}  // namespace headlight::cli
