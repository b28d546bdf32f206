#pragma once

#include "cli/terminal/options.h"
#include "headlight/data/dataset.h"
#include "headlight/io/model_directory.h"
#include "headlight/io/text_source.h"
#include "headlight/io/token_file.h"
#include "headlight/text/tokenizer.h"

// The text that a command runs a model over.
namespace headlight::cli {

// What --help says about the texts that an option takes.
inline constexpr const char* kTextsHelp =
    "UTF-8 text or .jsonl, also as .gz or .zst: files, a folder, or a pattern like 'books/*.txt'; "
    "- is standard input";
inline constexpr const char* kTextsOrIdsHelp =
    "UTF-8 text or .jsonl, also as .gz or .zst, or token ids (FILE.bin): files, a folder, or a "
    "pattern like 'books/*.txt'; - is standard input";

// --documents, --separator and --jsonl.
void add_format_options(Options& options);
// The same, --data, --token_dtype, --batch_size and --special_tokens.
void add_text_data_options(Options& options);

// --special_tokens, which is off or on.
void add_special_tokens_option(Options& options, const std::string& fallback = "off");
bool special_tokens_option(const Options& options);
// A model whose tokenizer reads texts as --special_tokens asks.
LoadedModel load_text_model(const std::filesystem::path& path, const Options& options,
                            const LoadOptions& loading = {});

// --window and --bos.
void add_window_option(Options& options);
// --bos; auto for commands without it.
BeginToken begin_option(const Options& options);
// A model that reads at most --window tokens at once: long blocks cost time and memory by their
// square, and tell little more about a head.
LoadedModel load_windowed_model(const std::filesystem::path& path, const Options& options);

// What they say about documents.
TextFormat text_format(const Options& options);

// find_text_files() with its warnings on stderr.
std::vector<TextFile> find_texts(const std::vector<std::string>& names,
                                 std::string_view token_file = kTrainFile);

// --token_dtype.
inline constexpr const char* kTokenDtypeHelp = "Ids in .bin files: auto, uint16 or uint32";
TokenDtype token_dtype_option(const Options& options);

// The text of those options as the model reads it, from the files that the option `name` gives.
// Throws Error when they are missing or cannot be used.
// `token_file` is the one that comes first in a folder of token files.
TokenDataset read_text_data(const Options& options, const Tokenizer& tokenizer,
                            const std::string& name = "data",
                            std::string_view token_file = kTrainFile);

// The same of files that have been found already.
TokenDataset read_text_data(const Options& options, const std::vector<TextFile>& files,
                            const Tokenizer& tokenizer);

}  // namespace headlight::cli
