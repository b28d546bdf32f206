#include <filesystem>
#include <iostream>

#include "base/stopwatch.h"
#include "base/strings/split.h"
#include "cli/commands.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "headlight/datasets/text_source.h"
#include "headlight/formats/tokenizer_directory.h"
#include "headlight/tokenizers/bpe_trainer.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"

namespace headlight::cli {
namespace {

constexpr std::array<std::string_view, 2> kSequences{"line", "text"};

Options tokenizer_train_options() {
  Options options(
      {.name = "tokenizer train",
       .summary = "Learn a byte-level BPE tokenizer from text files.",
       .positional = "[FILE ...]",
       .details =
           "Learns the same merges and ids as Hugging Face's BpeTrainer with its ByteLevel "
           "pre-tokenizer and alphabet. Writes a tokenizer.json for their libraries.\n\n"
           "Each line of a file is a separate text, as in Tokenizer.train(files). --sequences "
           "text takes each file as one text, so that indented lines are split as by GPT-2's "
           "pattern. Each text of JSON Lines is treated in the same way. Files must be UTF-8. "
           "They are read in parts, without changes.\n\n"
           "JSON keys: vocab_size, merges, bytes (read), seconds, directory.",
       .examples = {"headlight tokenizer train book.txt --vocab_size 4096 --out runs/bpe",
                    "headlight tokenizer train a.txt b.jsonl.gz --vocab_size 8192 --out runs/bpe "
                    "--special_names \"<|endoftext|>,<|pad|>\""}});
  options.values("data", kTextsHelp)
      .value("jsonl", kJsonlHelp)
      .value("vocab_size",
             "Learn this number of tokens: special tokens, the 256 bytes, and one for each merge")
      .value("special_names", "Names of special tokens, in the order of their ids",
             std::string(kEndOfTextName))
      .value("min_frequency", "Merge only pairs that occur at least this number of times", "0")
      .flag("whole_characters",
            "Make each character of the text a token first, so that no token is a part of one")
      .choice("sequences", "Take each line, or the whole text of each file, as one text",
              kSequences, "line")
      .value("out", "Write tokenizer.json and tokenizer_config.json to this folder")
      .flag("force", "Replace an existing tokenizer");
  options.refused("special_tokens", "is now called --special_names");
  options.paths({"data", "out"});
  return options;
}

BpeTrainerOptions trainer_options(const Options& options) {
  require(options.given("vocab_size"), "--vocab_size: expected the number of tokens to learn");
  BpeTrainerOptions result{.vocab_size = options.integer("vocab_size"),
                           .min_frequency = options.integer("min_frequency"),
                           .whole_characters = options.given("whole_characters"),
                           .special_names = split_at_commas(options.text("special_names"))};
  result.validate();
  return result;
}

std::vector<TextFile> data_files(const Options& options) {
  std::vector<std::string> names = options.positionals();
  const std::vector<std::string> more = options.texts("data");
  names.insert(names.end(), more.begin(), more.end());
  require(!names.empty(), "--data: expected a text file");
  return find_texts(names);
}

// Throws Error if the directory has a tokenizer: models may need it, and it cannot be rebuilt.
void require_no_tokenizer(const std::filesystem::path& directory) {
  for (const char* name : {"tokenizer.json", "vocab.json", "tokenizer.model"}) {
    std::error_code ignored;
    require(!std::filesystem::exists(directory / name, ignored), (directory / name).string(),
            ": already exists; --force replaces it");
  }
}

void tokenizer_train_command(const Options& options) {
  const Stopwatch watch;
  const BpeTrainerOptions wanted = trainer_options(options);
  TextFormat format;
  format.jsonl = options.text("jsonl");
  format.cut = options.text("sequences") == "line" ? StreamCut::line : StreamCut::piece;
  format.as_it_is = true;
  const std::vector<TextFile> files = data_files(options);
  require(options.given("out"), "--out: expected a folder to write the tokenizer into");
  const std::string directory = options.text("out");
  require_no_model(directory);  // fail before the work
  if (!options.given("force")) {
    require_no_tokenizer(directory);
  }
  BpeTrainer trainer(wanted);
  const std::size_t bytes = read_texts(files, format, [&](const TextFile&, const TextPart& part) {
    format.cut == StreamCut::line ? trainer.feed_lines(part.text) : trainer.feed(part.text);
  });
  require(bytes > 0, names_of(files), files.size() > 1 ? ": are empty" : ": is empty");
  const BpeTokenizer tokenizer(trainer.finish(progress_bar("merging")));
  const std::size_t merges = tokenizer.vocabulary().merges.size();
  if (tokenizer.vocab_size() < wanted.vocab_size) {
    log_warning(concat_text("the text has no more pairs to merge: ", tokenizer.vocab_size(),
                            " tokens instead of ", wanted.vocab_size));
  }
  save_tokenizer(directory, tokenizer);
  if (options.json()) {
    print_json({{"vocab_size", tokenizer.vocab_size()},
                {"merges", merges},
                {"bytes", bytes},
                {"seconds", watch.seconds()},
                {"directory", directory}});
    return;
  }
  std::cout << "wrote " << escaped(directory)
            << "/tokenizer.json: " << grouped(tokenizer.vocab_size()) << " tokens ("
            << grouped(static_cast<Index>(merges)) << " merges), from "
            << bytes_text(static_cast<double>(bytes)) << " in " << fixed_number(watch.seconds(), 2)
            << " s\n";
}

}  // namespace

int run_tokenizer_train(const Words& words) {
  return run(tokenizer_train_options(), words, tokenizer_train_command);
}

}  // namespace headlight::cli
