#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headlight/formats/gguf/gguf.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Returns the tokenizer of a GGUF file, from tokenizer.huggingface.json or else from
// tokenizer.ggml.*. Throws Error as gguf_tokenizer() and parse_tokenizer_json() do.
std::unique_ptr<Tokenizer> read_gguf_vocabulary(const GgufFile& file);

struct GgufVocabulary {
  GgufMetadata keys = {};
  std::vector<std::string> warnings = {};  // cases where llama.cpp gives other ids, one line each
};

// Returns the GGUF keys of a tokenizer, byte-level BPE or SentencePiece (its merges become scores),
// for a model of `vocab_size` ids. Warnings name everything that changes ids in llama.cpp. Throws
// Error, "gguf: ...", if llama.cpp cannot express the tokenizer.
GgufVocabulary gguf_vocabulary(const Tokenizer& tokenizer, Index vocab_size);

// llama.cpp finds tokenizers in general.name: with "phi-3", "phi3" or "modern-bert" in it, blanks
// beside special tokens disappear, and files without certain tokens do not load.

// Returns true for a name that llama.cpp reads as Phi-3's.
bool is_phi3_name(std::string_view name);
// True for a special token behind which Phi-3's tokenizer removes blanks.
bool strips_in_phi3(std::string_view token);
// Returns a general.name with which llama.cpp gives the ids of the tokenizer: `name`, with a blank
// in such a word, or with "Phi-3" in front for tokenizers that strip blanks in the same way.
std::string gguf_model_name(std::string name, const Tokenizer& tokenizer);

}  // namespace headlight
