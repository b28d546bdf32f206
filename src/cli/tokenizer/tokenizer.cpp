#include "cli/tokenizer/tokenizer.h"

#include <array>
#include <iostream>

#include "cli/commands.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest_name.h"

namespace headlight::cli {
namespace {

struct Subcommand {
  const char* name;
  const char* summary;
  int (*run)(const std::vector<std::string>& arguments);
};

constexpr std::array kSubcommands{
    Subcommand{"train", "Learn a byte-level BPE tokenizer from text", run_tokenizer_train},
    Subcommand{"encode", "Turn text into token ids, a train.bin or shards", run_tokenizer_encode},
    Subcommand{"decode", "Turn token ids into text", run_tokenizer_decode},
    Subcommand{"info", "What a tokenizer consists of", run_tokenizer_info},
    Subcommand{"show", "Print a text token by token, with the ids", run_tokenizer_show},
};

void print_usage() {
  std::cout
      << "Usage: headlight tokenizer <subcommand> [options]\n\n"
         "Learn tokenizers and look at what they do. Wherever one is read, it may be a\n"
         "tokenizer.json, nanoGPT's meta.pkl, a folder that holds one (or GPT-2's vocab.json and\n"
         "merges.txt), or a run directory.\n\nSubcommands:\n";
  for (const Subcommand& command : kSubcommands) {
    std::cout << "  " << command.name
              << std::string(12 - std::string_view(command.name).size(), ' ') << command.summary
              << "\n";
  }
  std::cout << "\nheadlight tokenizer <subcommand> --help tells more about each.\n";
}

}  // namespace

int run_tokenizer(const std::vector<std::string>& arguments) {
  require(!arguments.empty(), "tokenizer: expected a subcommand; see headlight tokenizer --help");
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print_usage();
    return 0;
  }
  std::vector<std::string> known;
  for (const Subcommand& command : kSubcommands) {
    if (arguments[0] == command.name) {
      return command.run({arguments.begin() + 1, arguments.end()});
    }
    known.emplace_back(command.name);
  }
  fail("tokenizer: unknown subcommand '", arguments[0], "'", did_you_mean(arguments[0], known),
       " (see headlight tokenizer --help)");
}

}  // namespace headlight::cli
