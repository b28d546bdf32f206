#include "cli/terminal/options.h"

#include <algorithm>

#include "cli/option_groups/config_options.h"
#include "fuzz/harness.h"
#include "fuzz/targets.h"

namespace headlight::fuzz {
namespace {

// Example command with options of every kind, including all of `headlight train`.
cli::Options example_options() {
  cli::Options options({.name = "example",
                        .summary = "An example.",
                        .positional = "[FILE]",
                        .details = "",
                        .examples = {"headlight example"}});
  cli::add_config_options(options, TrainConfig{});
  cli::add_ignored_options(options);
  options.flag("resume", "A flag").value("layers", "Numbers").value("ratio", "A number", "0.5");
  return options;
}

void use(const cli::Options& options) {
  options.json();
  options.given("resume");
  accepted([&] { options.positional(); });
  accepted([&] { options.integers("layers"); });
  accepted([&] { options.number("ratio"); });
  accepted([&] {
    TrainConfig config;
    cli::set_from_options(config, options);
    config.validate();
  });
}

}  // namespace

// Parses a command line. Each argument ends with a zero byte.
void options(std::string_view input) {
  std::vector<std::string> arguments;
  while (!input.empty() && arguments.size() < 32) {
    arguments.emplace_back(take_text(input));
  }
  static const cli::Options example = example_options();
  cli::Options options = example;
  bool continues = false;
  if (accepted([&] { continues = options.parse(arguments); }) && continues) {
    use(options);
  }
}

}  // namespace headlight::fuzz
