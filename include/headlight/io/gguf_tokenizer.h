#pragma once

#include <memory>

#include "headlight/io/gguf.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// The tokenizer that a GGUF file's metadata describes under tokenizer.ggml.*, as llama.cpp writes
// them (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md#tokenizer):
//   model "gpt2": byte-level BPE with the merges of the file. `pre` says how texts are cut, by the
//     names of llama.cpp; a file without one, or with "default", gives a tokenizer with a warning().
//   model "llama": SentencePiece's BPE of characters that fall back to bytes, whose merges follow
//     from the scores of the tokens. Of the family gemma, runs of blanks merge before all others.
// Ids are those of the tokenizer.json that the model came with, which to_tokenizer_json() gives in
// other words. Throws Error, one line that names the file and the key, where a key is missing, has
// another type or number of values or a value that is not supported, for more than 524,288
// tokens, 32 MiB of them and their merges, and tokens that are alike.
std::unique_ptr<Tokenizer> gguf_tokenizer(const GgufFile& file);

}  // namespace headlight
