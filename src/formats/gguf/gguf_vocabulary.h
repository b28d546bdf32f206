#pragma once

#include <memory>

#include "headlight/formats/gguf/gguf.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// Returns the tokenizer of a GGUF file, from tokenizer.huggingface.json or else from
// tokenizer.ggml.*. Throws Error as gguf_tokenizer() and parse_tokenizer_json() do.
std::unique_ptr<Tokenizer> read_gguf_vocabulary(const GgufFile& file);

struct GgufVocabulary {
  GgufMetadata keys = {};
  std::vector<std::string> warnings = {};  // cases where llama.cpp gives other ids, one line each
};

// Returns the GGUF keys of a tokenizer, byte-level BPE or SentencePiece (its merges become scores),
// for a model of `vocab_size` ids. Throws Error, "gguf: ...", if llama.cpp cannot express it.
GgufVocabulary gguf_vocabulary(const Tokenizer& tokenizer, Index vocab_size);

}  // namespace headlight
