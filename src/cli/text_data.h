#pragma once

#include "cli/options.h"
#include "headlight/data/dataset.h"
#include "headlight/io/token_file.h"
#include "headlight/text/tokenizer.h"

// The text that a command runs a model over.
namespace headlight::cli {

// --data, --documents, --separator, --token_dtype and --batch_size.
void add_text_data_options(Options& options);

// What they say about documents.
DocumentSplitOptions document_split(const Options& options);

// --token_dtype.
inline constexpr const char* kTokenDtypeHelp = "Ids in .bin files: auto, uint16 or uint32";
TokenDtype token_dtype_option(const Options& options);

// The text of those options as the model reads it, from the file that the option `name` gives.
// Throws Error when it is missing or cannot be used.
TokenDataset read_text_data(const Options& options, const Tokenizer& tokenizer,
                            const std::string& name = "data");

}  // namespace headlight::cli
