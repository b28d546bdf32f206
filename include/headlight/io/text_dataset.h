#pragma once

#include <string>
#include <vector>

#include "headlight/data/dataset.h"
#include "headlight/io/text_source.h"
#include "headlight/text/char_tokenizer.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// The token ids of one file: a stream, or documents between document_ends(); see TextFormat. Ids of
// token files (is_token_file) are a stream, or documents where an index beside them says so and the
// format asks for them. Texts are encoded as they are read, so that none lies
// in memory whole. The cut of streams is chosen to suit the tokenizer.
//
// A text that spells out the separator of documents although it is not cut there gets one line in
// `warnings`, which tells how to do so; so does one that spells special tokens out in characters,
// and a file whose ids are taken for 32-bit ones by their look. A file without any token gives no
// sequences.
//
// Throws Error "NAME: ..." when the file cannot be read or used, and when its ids do not fit in
// memory.
TokenDataset read_dataset(const TextFile& file, const TextFormat& format,
                          const Tokenizer& tokenizer, std::vector<std::string>& warnings);

// That of every file that has a token. Throws Error naming them when none has.
std::vector<TokenDataset> read_datasets(const std::vector<TextFile>& files,
                                        const TextFormat& format, const Tokenizer& tokenizer,
                                        std::vector<std::string>& warnings);

// The tokenizer of the characters that the texts have. Throws Error when there is none.
CharTokenizer learn_characters(const std::vector<TextFile>& files, TextFormat format);

}  // namespace headlight
