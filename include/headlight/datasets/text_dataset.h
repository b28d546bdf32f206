#pragma once

#include <string>
#include <vector>

#include "headlight/datasets/batches/masking.h"
#include "headlight/datasets/dataset.h"
#include "headlight/datasets/text_source.h"
#include "headlight/nn/gpt_config.h"
#include "headlight/tokenizers/char_tokenizer.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Returns the token ids of one file: a stream, or documents between document_ends(); see
// TextFormat. A token file (is_token_file) gives documents if it has an index and the format asks
// for them. Texts are encoded as they are read, in parts that suit the tokenizer.
//
// Adds one line to `warnings` for a text that spells out the separator of documents without being
// cut there. Likely mistakes also get a line: special tokens spelled out in a text, and ids that
// were guessed to be 32-bit. A file without tokens gives no sequences.
//
// Throws Error "NAME: ..." if the file cannot be read or used, or if its ids do not fit in memory.
TokenDataset read_dataset(const TextFile& file, const TextFormat& format,
                          const Tokenizer& tokenizer, std::vector<std::string>& warnings);

// Returns the dataset of every file that has tokens. Throws Error naming the files if none has.
std::vector<TokenDataset> read_datasets(const std::vector<TextFile>& files,
                                        const TextFormat& format, const Tokenizer& tokenizer,
                                        std::vector<std::string>& warnings);

// Makes a tokenizer of the characters in the texts. Throws Error if there are none.
CharTokenizer learn_characters(const std::vector<TextFile>& files, TextFormat format);

// Returns the masking by the tokenizer's mask token, which keeps special tokens. Throws Error if
// the tokenizer has no mask token.
Masking masking_of(const Tokenizer& tokenizer);

// Returns the data as a model reads them: the sequences of a bidirectional model are whole, each
// with its begin and end token, and fit into the context. A causal model's data stay unchanged.
TokenDataset whole_sequences(TokenDataset data, const GptConfig& model, const Tokenizer& tokenizer);

}  // namespace headlight
