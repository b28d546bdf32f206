#include "cli/terminal/command_help.h"

#include <algorithm>
#include <cxxopts.hpp>
#include <sstream>

#include "views/report/terminal_text.h"

namespace headlight::cli {
namespace {

using Takes = OptionInfo::Takes;

constexpr std::size_t kColumns = 80;
constexpr std::ptrdiff_t kLongHelp = 80;  // lines

constexpr std::string_view kModelHelp =
    "MODEL is a run directory, a checkpoint, a Hugging Face directory or a GGUF file.";

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
  std::copy_if(options.begin(), options.end(), std::back_inserter(basic),
               [](const OptionInfo& option) { return option.is_basic; });
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

// Returns the first paragraph of details, and the description of MODEL.
std::string first_paragraph(CommandInfo info) {
  info.details.resize(std::min(info.details.find("\n\n"), info.details.size()));
  return full_details(info);
}

}  // namespace

std::optional<HelpForm> help_form(std::string_view word) {
  for (const Choice<HelpForm>& choice : kChoices<HelpForm>) {
    if (choice.name == word) {
      return choice.value;
    }
  }
  return std::nullopt;
}

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

std::vector<std::string> option_groups(const std::vector<OptionInfo>& options) {
  std::vector<std::string> groups;
  for (const OptionInfo& option : options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) {
      groups.push_back(option.group);
    }
  }
  std::stable_partition(groups.begin(), groups.end(),
                        [](const std::string& group) { return group != kCommonGroup; });
  return groups;
}

std::string full_details(const CommandInfo& info) {
  const bool takes_model = info.positional.find("MODEL") != std::string::npos;
  return info.details + (takes_model ? "\n\n" + std::string(kModelHelp) : "");
}

std::string help_text(const CommandInfo& info, const std::vector<OptionInfo>& options, bool all) {
  std::string text =
      usage_of(info) + laid_out(full_details(info)) + option_list(options) + end_of(info);
  if (all || std::count(text.begin(), text.end(), '\n') <= kLongHelp) {
    return text;
  }
  return usage_of(info) + laid_out(first_paragraph(info)) + short_option_list(info, options) +
         end_of(info);
}

}  // namespace headlight::cli
