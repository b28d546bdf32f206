#include "cli/tokenizer/tokenizer.h"

#include <array>
#include <iostream>

#include "cli/command_table.h"
#include "cli/commands.h"
#include "headlight/base/error.h"

namespace headlight::cli {
namespace {

constexpr std::array kSubcommands{
    Command{"train", "Learn a byte-level BPE tokenizer from text", run_tokenizer_train},
    Command{"encode", "Turn text into token ids, a train.bin or shards", run_tokenizer_encode},
    Command{"decode", "Turn token ids into text", run_tokenizer_decode},
    Command{"info", "What a tokenizer consists of", run_tokenizer_info},
    Command{"show", "Print a text token by token, with the ids", run_tokenizer_show},
};

void print_usage() {
  std::cout
      << "Usage: headlight tokenizer <subcommand> [options]\n\n"
         "Learn tokenizers and look at what they do. Wherever one is read, it may be a\n"
         "tokenizer.json, nanoGPT's meta.pkl, a folder that holds one (or GPT-2's vocab.json and\n"
         "merges.txt), or a run directory.\n\nSubcommands:\n";
  print_commands(kSubcommands, std::cout);
  std::cout << "\nheadlight tokenizer <subcommand> --help tells more about each.\n";
}

}  // namespace

int run_tokenizer(const std::vector<std::string>& arguments) {
  require(!arguments.empty(), "tokenizer: expected a subcommand; see headlight tokenizer --help");
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print_usage();
    return 0;
  }
  const Command& command = find_command(kSubcommands, arguments[0], "tokenizer: unknown subcommand",
                                        "headlight tokenizer --help");
  return command.run({arguments.begin() + 1, arguments.end()});
}

}  // namespace headlight::cli
