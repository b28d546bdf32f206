#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/error.h"
#include "headlight/tensor/shape.h"

namespace headlight::cli {

// What a command says about itself in --help.
struct CommandInfo {
  std::string name;     // "generate"
  std::string summary;  // one line
  // "MODEL"; in brackets when it may be missing, with dots when there may be several
  // ("[FILE ...]"); empty: none.
  std::string positional;
  std::string details;                // paragraphs on what it does and prints, with its JSON keys
  std::vector<std::string> examples;  // whole command lines
  std::string exit_codes = {};        // beyond those that every command has
};

// The options of one command. Names are written with '_' and accept '-' as well; values come as
// --name value or --name=value; what follows a lone -- is no option. --help, --json, --threads,
// --cpu_variant, --products and --log_level are always there. Everything throws Error for input
// that does not fit, naming the option.
class Options {
 public:
  explicit Options(CommandInfo info);

  // An option with a value, given once; an empty default means that it need not be given.
  Options& value(const std::string& name, const std::string& help,
                 const std::string& fallback = "");
  // An option that may stand alone, which means true; also --name false, and --name=VALUE.
  Options& boolean(const std::string& name, const std::string& help);
  // An option that takes several values: --name a --name b, or --name a b. Words behind the first
  // value are the command's positional arguments where these would be missing otherwise.
  Options& values(const std::string& name, const std::string& help);
  // An option without a value.
  Options& flag(const std::string& name, const std::string& help);
  // Another name that users may know an option by.
  Options& alias(const std::string& other_name, const std::string& name);

  // An option with a value that other programs have and this one takes without effect.
  Options& ignored(const std::string& name);

  // Reads the arguments after the command's name. Returns false when --help was asked for and has
  // been printed. Applies --threads, --cpu_variant, --products and --log_level.
  bool parse(const std::vector<std::string>& arguments);

  // True when the user gave the option, not only its default.
  bool given(const std::string& name) const;
  bool is_set(const std::string& flag_name) const;
  std::string text(const std::string& name) const;
  // All values of an option that takes several, in order; none when it was not given.
  std::vector<std::string> texts(const std::string& name) const;
  Index integer(const std::string& name) const;
  double number(const std::string& name) const;
  // "0,2,5" as numbers; empty when not given.
  std::vector<Index> integers(const std::string& name) const;
  bool json() const { return is_set("json"); }
  // True when the command has an option of that name.
  bool has(std::string_view name) const { return find(name) != nullptr; }

  const std::vector<std::string>& positionals() const { return positionals_; }
  // The only positional argument. Throws Error naming what was expected.
  const std::string& positional() const;

 private:
  enum class Takes { nothing, value, value_or_nothing, values };
  struct Declared {
    std::string name;
    std::string help;
    Takes takes;
    std::string fallback;  // of the value; empty: none
  };
  // An argument that is no option.
  struct Word {
    std::string text;
    std::string option;  // that takes several values and stands before it; empty: none
  };

  const Declared* find(std::string_view name) const;  // nullptr: there is no such option
  std::size_t read_option(const std::vector<std::string>& arguments, std::size_t i);
  std::string list_at(const std::string& argument) const;
  void add_value(const std::string& name, const std::string& value);
  // Says which words are positional arguments and which are values.
  void place_words(const std::vector<Word>& words);
  bool is_positional(const Word& word, const std::vector<Word>& words) const;
  // The option that the user means. Throws Error for an unknown one, naming the nearest.
  std::string known_name(const std::string& given) const;
  bool is_ignored(const std::string& name) const;
  std::string option_list() const;  // the part of --help that explains them
  void print_help() const;
  void apply_common() const;
  void apply_threads() const;

  CommandInfo info_;
  std::vector<Declared> declared_;              // in the order of --help
  std::map<std::string, std::string> aliases_;  // other name -> name
  std::vector<std::string> ignored_;
  std::map<std::string, std::string> values_;              // as given, or the default
  std::map<std::string, std::vector<std::string>> lists_;  // of options that take several values
  std::set<std::string> given_;
  std::vector<std::string> positionals_;
};

// Of anything random; more would take days and say nothing more.
inline constexpr Index kMostSamples = 1'000'000;

// An option that must be from `least` to `most`.
Index count_option(const Options& options, const std::string& name, Index least,
                   Index most = std::numeric_limits<Index>::max());

// Throws Error for the first of these options that was given: "--NAME: WHY".
void refuse_options(const Options& options, std::initializer_list<const char*> names,
                    std::string_view why);

// A file to write, of which others of the same kind are replaced, and nothing else: a slip must not
// cost a text or a model. Throws Error otherwise.
std::string output_file(const Options& options, const std::string& name,
                        std::string_view extension);

// Reads the arguments and does what the command does, unless they ask for --help. Returns the exit
// code. An Error about a value that has the name of an option says "--NAME: ...", unless it knows
// another place that the value comes from.
int run_command(Options options, const std::vector<std::string>& arguments,
                int (*run)(const Options& options));

// --seed, from 0 on.
std::uint64_t seed_option(const Options& options);

}  // namespace headlight::cli
