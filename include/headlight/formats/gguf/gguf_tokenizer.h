#pragma once

#include <memory>

#include "headlight/formats/gguf/gguf.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Returns the tokenizer that tokenizer.ggml.* of a GGUF file describes, as llama.cpp writes it
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md#tokenizer):
//   model "gpt2": byte-level BPE with the file's merges. `pre` is llama.cpp's name of the
//     pre-tokenizer. Without it, or with "default", the tokenizer gets a warning().
//   model "llama": SentencePiece BPE with byte fallback. Merges follow from the tokens' scores. In
//     the gemma family, runs of blanks merge before everything else.
// Ids are as in the model's original tokenizer.json; to_tokenizer_json() writes an equivalent one.
// Throws Error, one line that names the file and the key, for a missing key, a wrong type, number
// of values or value, more than 524,288 tokens, more than 32 MiB of tokens or of merges, and
// duplicate tokens.
std::unique_ptr<Tokenizer> gguf_tokenizer(const GgufFile& file);

}  // namespace headlight
