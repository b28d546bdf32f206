#include "cli/command_table.h"
#include "cli/commands.h"
#include "headlight/base/error.h"

namespace headlight::cli {
namespace {

CommandTable tokenizer_table() {
  constexpr const char* kGroup = "Subcommands";
  return {
      .info =
          {.name = "tokenizer",
           .summary = "Learn a tokenizer; encode, decode and show text.",
           .positional = "SUBCOMMAND",
           .details =
               "A tokenizer is read from a tokenizer.json, from SentencePiece's "
               "tokenizer.model, from nanoGPT's meta.pkl, from a folder with one of these (or with "
               "GPT-2's vocab.json and merges.txt), from a run directory, from a "
               "GGUF file, or from nanoGPT's checkpoints.\n\n"
               "headlight tokenizer SUBCOMMAND --help describes a subcommand.",
           .examples = {"headlight tokenizer train book.txt --vocab_size 4096 --out "
                        "runs/bpe",
                        "headlight tokenizer show runs/toy \"Once upon a time\""}},
      .commands = {
          {kGroup, "train", "Learn a byte-level BPE tokenizer from text", run_tokenizer_train},
          {kGroup, "encode", "Turn text into token ids, a train.bin or shards",
           run_tokenizer_encode},
          {kGroup, "decode", "Turn token ids into text", run_tokenizer_decode},
          {kGroup, "info", "Show the size and special tokens of a tokenizer", run_tokenizer_info},
          {kGroup, "show", "Print the tokens of a text with their ids", run_tokenizer_show}}};
}

}  // namespace

int run_tokenizer(const Words& words) {
  require(!words.empty(), "tokenizer: expected a subcommand; see headlight tokenizer --help");
  return run_table(tokenizer_table(), words);
}

}  // namespace headlight::cli
