#pragma once

#include <memory>

#include "headlight/io/gguf.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// The tokenizer of a GGUF file: its tokenizer.huggingface.json, else what tokenizer.ggml.* says.
// Throws Error as gguf_tokenizer() and parse_tokenizer_json() do.
std::unique_ptr<Tokenizer> read_gguf_vocabulary(const GgufFile& file);

// The keys of a tokenizer for a model of so many ids. Throws Error, "gguf: ...", for one that
// llama.cpp cannot express.
GgufMetadata gguf_vocabulary(const Tokenizer& tokenizer, Index vocab_size);

}  // namespace headlight
