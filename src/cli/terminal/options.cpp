#include "cli/terminal/options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "base/strings/printable.h"
#include "base/strings/read_number.h"
#include "base/strings/split.h"
#include "base/transformed.h"
#include "cli/terminal/log.h"
#include "formats/adapter/adapter.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest_name.h"
#include "headlight/distributed/processes.h"
#include "headlight/formats/run_layout.h"
#include "headlight/kernels/machine/machine.h"
#include "kernels/cpu_variant.h"
#include "kernels/gemm/products.h"

namespace headlight::cli {
namespace {

bool is_boolean(std::string_view text) {
  return text == "true" || text == "false" || text == "True" || text == "False";
}

// Reads a whole text as a number of type T.
template <class T>
T parse_number(const std::string& name, const std::string& text, const char* expected) {
  const std::optional<T> value = read_number<T>(text);
  require(value.has_value(), "--", name, ": expected ", expected, ", got '", text, "'");
  return *value;
}

// Share of the machine's threads for this process if a launcher started several here. Processes
// bound to processors have separate shares already.
int own_share(int threads) {
  const auto processes = static_cast<int>(launched_on_this_machine());
  const bool is_bound = available_cpus() < ::sysconf(_SC_NPROCESSORS_ONLN);
  return is_bound ? threads : std::max(1, threads / processes);
}

// Options whose values are models or tokenizers.
constexpr std::array<std::string_view, 5> kModelOptions{"model", "compare", "reference",
                                                        "speculate", "tokenizer"};

// True for an adapter (LoRA), and for a run of one.
bool names_adapter(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) && is_adapter(model_in(path).value_or(path));
}

// Throws Error if --base is given and no model of the command is an adapter.
void require_base_is_used(const Options& options) {
  if (!options.has("base") || !options.given("base") || options.has("resume")) {
    return;
  }
  std::vector<std::string> models = options.positionals();
  for (const std::string_view name : kModelOptions) {
    if (options.given(name)) {
      models.push_back(options.text(std::string(name)));
    }
  }
  require(std::ranges::any_of(models, names_adapter), "--base: needs an adapter (LoRA), got ",
          models.empty()
              ? "no model"
              : joined(transformed(models, [](const auto& model) { return shown(model); }), ", "),
          "; a whole model has no base: leave the option out");
}

}  // namespace

Options::Options(CommandInfo info) : info_(std::move(info)) {
  flag("help", "Show this help; --help all shows every option");
  flag("json", "Print one JSON object to standard output instead of text");
  value("threads",
        "Compute with this number of threads (default: OMP_NUM_THREADS, or one for each core). "
        "Results do not depend on it");
  choice(
      "cpu_variant", "Instruction set (default: the best of this CPU)",
      transformed(kernels::kCpuVariants, [](auto variant) { return kernels::name_of(variant); }));
  value("products",
        "Code for matrix products: own (Headlight's), blas (OpenBLAS), or auto, the default "
        "(Headlight's where it is as fast). Attention, bfloat16 products, and generation after the "
        "prompt always use Headlight's")
      .choices(kChoiceNames<kernels::Products>);
  choice("log_level", "Lowest level of messages on standard error", kLogLevels, "info");
  const auto takes = [&](std::string_view argument) {
    return info_.positional.find(argument) != std::string_view::npos;
  };
  if (takes("MODEL") || takes("TOKENIZER")) {
    base();
  }
  group_.clear();
}

Options& Options::base() {
  value("base", "Base model of an adapter (LoRA), if it has moved or the adapter names none");
  return paths({"base"});
}

Options& Options::add(OptionInfo option) {
  option.group = group_;
  declared_.push_back(std::move(option));
  return *this;
}

Options& Options::value(const std::string& name, const std::string& help,
                        const std::string& fallback) {
  return add({.name = name, .help = help, .takes = Takes::value, .fallback = fallback});
}

Options& Options::choice(const std::string& name, const std::string& help,
                         std::span<const std::string_view> names, const std::string& fallback) {
  value(name, help + ": " + listed(names), fallback).choices(names);
  declared_.back().is_choice = true;
  return *this;
}

Options& Options::boolean(const std::string& name, const std::string& help) {
  return add(
      {.name = name, .help = help, .takes = Takes::value_or_nothing, .choices = {"true", "false"}});
}

Options& Options::choices(std::span<const std::string_view> names) {
  declared_.back().choices.assign(names.begin(), names.end());
  return *this;
}

Options& Options::mark(std::initializer_list<std::string_view> names, bool OptionInfo::*property) {
  for (const std::string_view name : names) {
    const auto option = std::ranges::find(declared_, name, &OptionInfo::name);
    require(option != declared_.end(), "[options] ", name, ": unknown option");
    (*option).*property = true;
  }
  return *this;
}

std::vector<std::string> Options::names() const {
  return transformed(declared_, &OptionInfo::name);
}

const OptionInfo* Options::find(std::string_view name) const {
  const auto found = std::ranges::find(declared_, name, &OptionInfo::name);
  return found == declared_.end() ? nullptr : &*found;
}

const OptionInfo& Options::at(const std::string& name) const {
  const OptionInfo* option = find(name);
  require(option != nullptr, "[options] ", name, ": unknown option");
  return *option;
}

std::string Options::known_name(const std::string& given) const {
  std::string name = given;
  std::ranges::replace(name, '-', '_');
  if (const auto alias = aliases_.find(name); alias != aliases_.end()) {
    name = alias->second;
  }
  if (find(name) == nullptr && std::ranges::find(ignored_, name) == ignored_.end()) {
    const auto refused = refused_.find(name);
    require(refused == refused_.end(), "--", name, ": ",
            refused == refused_.end() ? "" : refused->second);
    const std::string near = nearest_name(name, names());
    fail("unknown option --", given, near.empty() ? "" : "; did you mean --" + near + "?",
         " (see headlight ", info_.name, " --help)");
  }
  return name;
}

// Reads the option at arguments[i]. Returns the index of its last argument. `list` becomes the name
// of the option if it takes several values.
std::size_t Options::read_option(const std::vector<std::string>& arguments, std::size_t i,
                                 std::string& list) {
  const std::string& argument = arguments[i];
  require(argument.starts_with("--"), "unknown option '", argument,
          "': options start with --; see headlight ", info_.name, " --help");
  const std::size_t equals = argument.find('=');
  const bool has_value = equals != std::string::npos;
  const std::string name = known_name(argument.substr(2, equals - 2));
  const OptionInfo* option = find(name);
  // Ignored options have a value, as in the programs that they come from.
  const Takes takes = option == nullptr ? Takes::value : option->takes;
  list = takes == Takes::values ? name : "";
  if (takes == Takes::nothing) {
    require(!has_value, "--", name, ": takes no value");
    add_value(name, "");
    return i;
  }
  const bool may_stand_alone = takes == Takes::value_or_nothing;
  const bool takes_next =
      !has_value && i + 1 < arguments.size() && (!may_stand_alone || is_boolean(arguments[i + 1]));
  require(has_value || takes_next || may_stand_alone, "--", name, ": expected a value");
  add_value(name, has_value ? argument.substr(equals + 1) : takes_next ? arguments[i + 1] : "true");
  return takes_next ? i + 1 : i;
}

void Options::add_value(const std::string& name, const std::string& value) {
  const auto option = std::ranges::find(declared_, name, &OptionInfo::name);
  if (option == declared_.end()) {
    log_warning("--" + name + " has no effect here and is ignored");
    return;
  }
  const bool is_single = option->takes == Takes::value || option->takes == Takes::value_or_nothing;
  require(!is_single || option->values.empty(), "--", name, ": given twice, '",
          option->values.empty() ? "" : option->values[0], "' and '", value,
          "'; expected one value");
  option->values.push_back(value);
}

// True for a positional argument. A word after a multi-value option is another value, unless the
// command would lack its only argument.
bool Options::is_positional(const Word& word, const std::vector<Word>& words) const {
  constexpr std::string_view kConfiguration = ".toml";
  if (word.option.empty()) {
    return true;
  }
  if (info_.positional.empty() || info_.positional.starts_with('[')) {
    return info_.positional.find(kConfiguration) != std::string::npos &&
           word.text.ends_with(kConfiguration);
  }
  const auto elsewhere =
      std::ranges::count_if(words, [](const Word& other) { return other.option.empty(); });
  const auto behind = static_cast<std::ptrdiff_t>(words.size()) - elsewhere;
  require(elsewhere > 0 || behind == 1, "--", word.option,
          ": it is unclear which of its values is ", info_.positional,
          "; write it first: headlight ", info_.name, " ", info_.positional, " --", word.option,
          " ...");
  return elsewhere == 0;
}

void Options::assign_words(const std::vector<Word>& words) {
  for (const Word& word : words) {
    if (is_positional(word, words)) {
      positionals_.push_back(word.text);
    } else {
      add_value(word.option, word.text);
    }
  }
  const bool several = info_.positional.find(' ') != std::string::npos;
  require(!info_.positional.empty() || positionals_.empty(), "unexpected argument '",
          positionals_.empty() ? "" : positionals_[0], "'; see headlight ", info_.name, " --help");
  require(several || positionals_.size() <= 1, "expected one ", info_.positional, ", got ",
          positionals_.size(), " arguments; see headlight ", info_.name, " --help");
}

std::string Options::help(HelpForm form) const {
  if (form == HelpForm::standard || form == HelpForm::all) {
    return help_text(info_, declared_, form == HelpForm::all);
  }
  return form == HelpForm::man ? manual_page(info_, declared_)
                               : completion_script(form).part(info_, declared_);
}

// cxxopts (3.1.1), which lays out the help, does not parse: `MODEL --data a b` would give --data
// only `a`, --stop x,y would be two texts, and --seed 1 --seed 2 the last one without a word.
bool Options::parse(const std::vector<std::string>& arguments) {
  bool only_positionals = false;
  std::vector<Word> words;
  std::string list;  // option that takes the next words as values
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (only_positionals || argument.size() < 2 || argument[0] != '-') {
      words.push_back({argument, list});
      continue;
    }
    list.clear();
    if (argument == "--") {
      only_positionals = true;
    } else if (argument == "-h" || argument == "--help") {
      add_value("help", "");
      if (const auto form = help_form(i + 1 < arguments.size() ? arguments[i + 1] : "")) {
        form_ = *form;
        ++i;
      }
    } else {
      i = read_option(arguments, i, list);
    }
  }
  if (given("help")) {
    std::cout << help(form_);
    return false;
  }
  assign_words(words);
  check_choices();
  apply_common();
  return true;
}

void Options::check_choices() const {
  for (const OptionInfo& option : declared_) {
    const bool is_checked = option.is_choice && !option.values.empty();
    if (is_checked && std::ranges::count(option.choices, option.values[0]) == 0) {
      const std::vector<std::string_view> names(option.choices.begin(), option.choices.end());
      fail_choice(option.name, names, option.values[0]);
    }
  }
}

void Options::apply_common() const {
  set_log_level(text("log_level"));
  apply_threads();
  if (given("cpu_variant")) {
    set_cpu_variant(text("cpu_variant"));
  }
  if (given("products")) {
    set_products(text("products"));
  }
}

void Options::apply_threads() const {
  if (!given("threads")) {
    set_thread_count(own_share(default_thread_count()));
    return;
  }
  const Index threads = integer("threads");
  require(threads >= 1 && threads <= 1024, "--threads: expected 1 to 1024, got ", threads);
  if (threads > available_cpus()) {
    log_warning("--threads " + std::to_string(threads) +
                ": more than the CPUs that this process may run on, " +
                std::to_string(available_cpus()));
  }
  set_thread_count(static_cast<int>(threads));
}

bool Options::given(std::string_view name) const {
  const OptionInfo* option = find(name);
  return option != nullptr && !option->values.empty();
}

std::string Options::text(const std::string& name) const {
  const OptionInfo& option = at(name);
  return option.values.empty() ? option.fallback : option.values[0];
}

Index Options::integer(const std::string& name) const {
  return parse_number<Index>(name, text(name), "a whole number");
}

double Options::number(const std::string& name) const {
  const double value = parse_number<double>(name, text(name), "a number");
  require(std::isfinite(value), "--", name, ": expected a finite number, got '", text(name), "'");
  return value;
}

std::vector<Index> Options::integers(const std::string& name) const {
  return transformed(split_at_commas(text(name)), [&](const std::string& part) {
    return parse_number<Index>(name, part, "whole numbers separated by commas");
  });
}

const std::string& Options::positional() const {
  require(positionals_.size() == 1, "expected one ", info_.positional, ", got ",
          positionals_.size(), " arguments; see headlight ", info_.name, " --help");
  return positionals_[0];
}

Index count_option(const Options& options, const std::string& name, Index least, Index most) {
  const Index value = options.integer(name);
  require(value >= least, "--", name, ": expected at least ", least, ", got ", value);
  require(value <= most, "--", name, ": expected at most ", most, ", got ", value);
  return value;
}

int run(Options options, const std::vector<std::string>& words,
        const std::function<void(const Options& options)>& command) {
  try {
    if (options.parse(words)) {
      require_base_is_used(options);
      command(options);
    }
    return 0;
  } catch (Error& error) {
    if (!error.has_location() && options.has(error.about())) {
      error.add_location("--");
    }
    throw;
  }
}

std::filesystem::path base_option(const Options& options, const std::filesystem::path& model) {
  const bool is_given = options.has("base") && options.given("base");
  return is_given && names_adapter(model) ? options.text("base") : "";
}

std::uint64_t seed_option(const Options& options) {
  return static_cast<std::uint64_t>(count_option(options, "seed", 0));
}

void refuse_options(const Options& options, std::initializer_list<const char*> names,
                    std::string_view why) {
  for (const char* name : names) {
    require(!options.given(name), "--", name, ": ", why);
  }
}

std::string output_file(const Options& options, const std::string& name,
                        std::string_view extension) {
  const std::string text = options.text(name);
  require(!text.empty(), "--", name, ": expected the name of a file, got none");
  const std::filesystem::path path = text;
  std::error_code ignored;
  require(!path.has_extension() || path.extension() == extension ||
              !std::filesystem::exists(path, ignored),
          "--", name, ": ", text, " exists and is not a ", extension, " file; choose another name");
  return text;
}

}  // namespace headlight::cli
