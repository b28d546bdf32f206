#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "cli/terminal/options.h"
#include "headlight/datasets/batches/masking.h"
#include "headlight/datasets/dataset.h"
#include "headlight/datasets/text_source.h"
#include "headlight/datasets/token_file.h"
#include "headlight/formats/model_directory.h"
#include "headlight/tokenizers/tokenizer.h"

// Models and texts that commands read.
namespace headlight::cli {

// Help text for options that take texts.
inline constexpr const char* kTextsHelp =
    "Read these UTF-8 texts or .jsonl files, also .gz or .zst: files, a folder, or a pattern like "
    "'books/*.txt'; - is standard input";
inline constexpr const char* kTextsOrIdsHelp =
    "Read these UTF-8 texts or .jsonl files, also .gz or .zst, or token ids (FILE.bin): files, a "
    "folder, or a pattern like 'books/*.txt'; - is standard input";

inline constexpr const char* kJsonlHelp =
    "Read JSON Lines, one document per line, with the text under this key, or this column of .csv "
    "and .tsv files; without it, .jsonl files have the key 'text', other files are plain text";

// Adds --documents, --separator and --jsonl.
void add_format_options(Options& options);
// Adds those, --data, --token_dtype, --batch_size and --special_tokens.
void add_text_data_options(Options& options);

// load_model() and open_tokenizer() that log the warnings of the files.
LoadedModel load_model_with_warnings(const std::filesystem::path& path,
                                     const LoadOptions& options = {});
std::unique_ptr<Tokenizer> open_tokenizer_aloud(const std::filesystem::path& path,
                                                const Options& options);

// Adds --special_tokens, which is off or on.
void add_special_tokens_option(Options& options, const std::string& fallback = "off");
bool special_tokens_option(const Options& options);
// Loads a model whose tokenizer obeys --special_tokens. Without the option, bidirectional models
// read special tokens in texts: their [MASK] is written in the text.
LoadedModel load_text_model(const std::filesystem::path& path, const Options& options,
                            const LoadOptions& loading = {});

// Models that a command accepts.
enum class Attention { causal, any };

// Adds --window and --bos.
void add_window_option(Options& options);
// Value of --bos; auto for commands without it.
BeginToken begin_option(const Options& options);
// Loads a model with a context length of at most --window. Time and memory grow with its square,
// and longer contexts show little more about a head. Throws Error for a model that is not accepted.
// `keeps_blocks`: matrices of a GGUF file in blocks stay as they are stored.
LoadedModel load_windowed_model(const std::filesystem::path& path, const Options& options,
                                Attention attention = Attention::causal, bool keeps_blocks = false);

// Returns the masking of a bidirectional model; none for a causal model.
std::optional<Masking> masking_for(const LoadedModel& loaded);

TextFormat text_format(const Options& options);

// Documents of --text, split as --documents says. Throws Error for an empty text or one that is not
// UTF-8.
std::vector<std::string> text_documents(const Options& options);

// find_text_files() that logs its warnings. `token_file`: preferred file in a folder of token
// files.
std::vector<TextFile> find_texts(const std::vector<std::string>& names,
                                 std::string_view token_file = kTrainFile);

inline constexpr const char* kTokenDtypeHelp = "Data type of the ids in .bin files";

// Reads the text of option `name` as the model sees it. Throws Error if files are missing or
// invalid.
TokenDataset read_text_data(const Options& options, const Tokenizer& tokenizer,
                            const std::string& name = "data");

// Reads the text of option `name` for a model. The sequences of a bidirectional model are whole:
// each has its begin and end token and fits into the context.
TokenDataset read_model_data(const Options& options, const LoadedModel& loaded,
                             const std::string& name = "data");

// Passes all parts of the texts to `use`. Logs warnings about files that look like another format.
// Returns the number of bytes.
std::size_t read_texts(const std::vector<TextFile>& files, const TextFormat& format,
                       const std::function<void(const TextFile&, const TextPart&)>& use);

// Reads files that have been found already.
TokenDataset read_text_data(const Options& options, const std::vector<TextFile>& files,
                            const Tokenizer& tokenizer);

}  // namespace headlight::cli
