#pragma once

#include <memory>

#include "headlight/io/gguf.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// The tokenizer of a GGUF file: its tokenizer.huggingface.json, else what tokenizer.ggml.* says.
// Throws Error as gguf_tokenizer() and parse_tokenizer_json() do.
std::unique_ptr<Tokenizer> read_gguf_vocabulary(const GgufFile& file);

struct GgufVocabulary {
  GgufMetadata keys = {};
  std::vector<std::string> warnings = {};  // where llama.cpp makes other ids, one line each
};

// A tokenizer for a model of so many ids: byte-level BPE, or SentencePiece's, whose merges become
// scores. Throws Error, "gguf: ...", for one that llama.cpp cannot express.
GgufVocabulary gguf_vocabulary(const Tokenizer& tokenizer, Index vocab_size);

}  // namespace headlight
