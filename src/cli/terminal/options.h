#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/command_help.h"
#include "headlight/base/error.h"
#include "headlight/tensor/shape.h"

namespace headlight::cli {

// Options of one command. Names use '_' and accept '-' as well. Values come as --name value or
// --name=value. Arguments after a lone -- are no options. --help, --json, --threads, --cpu_variant,
// --products and --log_level always exist. All functions throw Error for invalid input, naming the
// option.
class Options {
 public:
  explicit Options(CommandInfo info);

  // Adds an option with a value, given at most once. An empty `fallback` means no default.
  Options& value(const std::string& name, const std::string& help,
                 const std::string& fallback = "");
  // Adds an option whose value is one of `names`, which the help lists. parse() rejects other
  // values.
  Options& choice(const std::string& name, const std::string& help,
                  std::span<const std::string_view> names, const std::string& fallback = "");
  // Adds an option that means true if given alone. Also accepts --name false and --name=VALUE.
  Options& boolean(const std::string& name, const std::string& help);
  // Adds an option with several values: --name a --name b, or --name a b. Words after the first
  // value become positional arguments if the command lacks them.
  Options& values(const std::string& name, const std::string& help) {
    return add({.name = name, .help = help, .takes = Takes::values});
  }
  // Adds an option without a value.
  Options& flag(const std::string& name, const std::string& help) {
    return add({.name = name, .help = help, .takes = Takes::nothing});
  }
  // Offers values of the last option to shells.
  Options& choices(std::span<const std::string_view> names);
  // Marks the values of these options as files or folders.
  Options& paths(std::initializer_list<std::string_view> names) {
    return mark(names, &OptionInfo::is_path);
  }
  // Shows these options in the short help of a command with many options.
  Options& basic(std::initializer_list<std::string_view> names) {
    return mark(names, &OptionInfo::is_basic);
  }
  // Sets the heading of the options that follow.
  Options& group(std::string_view heading) {
    group_ = heading;
    return *this;
  }
  // Adds --base. Commands with the argument MODEL or TOKENIZER have it already.
  Options& base();
  // Adds another name for an option.
  Options& alias(const std::string& other_name, const std::string& name) {
    aliases_[other_name] = name;
    return *this;
  }

  // Accepts an option of other programs, with a value, without effect.
  Options& ignored(const std::string& name) {
    ignored_.push_back(name);
    return *this;
  }

  // Rejects an option of another command with a reason, unless it is declared here.
  Options& refused(const std::string& name, const std::string& why) {
    refused_.try_emplace(name, why);
    return *this;
  }

  // Names of the declared options.
  std::vector<std::string> names() const;

  // Help, manual page or part of a completion script.
  std::string help(HelpForm form) const;

  // Reads the arguments after the command's name. Returns false after printing --help. Applies
  // --threads, --cpu_variant, --products and --log_level.
  bool parse(const std::vector<std::string>& arguments);

  // True if the user gave the option; a default does not count.
  bool given(std::string_view name) const;
  std::string text(const std::string& name) const;
  // All values of a multi-value option, in order; empty if not given.
  std::vector<std::string> texts(const std::string& name) const { return at(name).values; }
  // Value of choice().
  template <class E>
  E chosen(const std::string& name) const {
    return parse_name<E>(name, text(name));
  }
  Index integer(const std::string& name) const;
  double number(const std::string& name) const;
  // Numbers of a list like "0,2,5"; empty if not given.
  std::vector<Index> integers(const std::string& name) const;
  bool json() const { return given("json"); }
  bool has(std::string_view name) const { return find(name) != nullptr; }

  const std::vector<std::string>& positionals() const { return positionals_; }
  // The only positional argument. Throws Error naming the expected argument.
  const std::string& positional() const;

 private:
  using Takes = OptionInfo::Takes;
  // Argument that is no option.
  struct Word {
    std::string text;
    std::string option;  // multi-value option before it; empty: none
  };

  Options& add(OptionInfo option);
  Options& mark(std::initializer_list<std::string_view> names, bool OptionInfo::*property);
  const OptionInfo* find(std::string_view name) const;  // nullptr: unknown or ignored option
  const OptionInfo& at(const std::string& name) const;
  std::size_t read_option(const std::vector<std::string>& arguments, std::size_t i,
                          std::string& list);
  void add_value(const std::string& name, const std::string& value);
  // Assigns words to positional arguments and to values.
  void assign_words(const std::vector<Word>& words);
  bool is_positional(const Word& word, const std::vector<Word>& words) const;
  // Canonical name of the given option. Throws Error for an unknown one, naming the nearest.
  std::string known_name(const std::string& given) const;
  void check_choices() const;
  void apply_common() const;
  void apply_threads() const;

  CommandInfo info_;
  std::vector<OptionInfo> declared_;  // in the order of --help
  std::string group_ = std::string(kCommonGroup);
  HelpForm form_ = HelpForm::standard;          // requested by --help
  std::map<std::string, std::string> aliases_;  // alias -> name
  std::vector<std::string> ignored_;
  std::map<std::string, std::string> refused_;  // name -> reason
  std::vector<std::string> positionals_;
};

// Largest number of random samples. More would take days without better results.
inline constexpr Index kMostSamples = 1'000'000;

// Value of an option. Throws Error unless it is from `least` to `most`.
Index count_option(const Options& options, const std::string& name, Index least,
                   Index most = std::numeric_limits<Index>::max());

// Throws Error "--NAME: WHY" for the first of these options that was given.
void refuse_options(const Options& options, std::initializer_list<const char*> names,
                    std::string_view why);

// Path of a file to write. Throws Error if it would replace a file with another extension: a typing
// error must not destroy a text or a model.
std::string output_file(const Options& options, const std::string& name,
                        std::string_view extension);

// Reads the words and runs the command unless they ask for --help. Returns 0, the exit code. Adds
// "--NAME: " to an Error about an option, unless the error has another location already.
int run(Options options, const std::vector<std::string>& words,
        const std::function<void(const Options& options)>& command);

std::uint64_t seed_option(const Options& options);

// Returns --base for a model that is an adapter; otherwise, and without the option, "".
std::filesystem::path base_option(const Options& options, const std::filesystem::path& model);

}  // namespace headlight::cli
