#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "headlight/io/gguf.h"
#include "headlight/nn/gpt.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

struct GgufModelOptions {
  GgufType type = GgufType::f32;  // of matrices: F32, F16, BF16 or Q8_0
  std::string name = {};          // general.name
  // Keys "tokenizer.ggml.model" and so on, in place of those that are made from the tokenizer.
  GgufMetadata tokenizer = {};
  // Other keys to keep, such as general.license; a general.name here comes before `name`.
  GgufMetadata general = {};
};

// Throws Error, "gguf: ...", for a model that llama.cpp has no architecture for: see load_model for
// those that it has, which fix activations, windows and scales.
void require_gguf_model(const GptConfig& config);

// Writes a model with its tokenizer as llama.cpp opens it. Vectors and learned positions stay F32;
// matrices whose rows are no whole number of Q8_0's blocks become F16. Returns warnings, one line
// each: that they did, and where llama.cpp computes something else.
// SentencePiece's tokenizers (marks for blanks, bytes for characters that are no tokens) get
// scores. What llama.cpp's keys of a tokenizer cannot say, tokenizer.huggingface.json does, which
// load_model prefers: char tokenizers leave unknown characters out there. Ids of the model without
// a token become [PAD0] and so on.
// Throws Error as require_gguf_model() does, for a tokenizer whose pieces llama.cpp does not know
// or whose merges no scores can say, and as write_gguf() does.
std::vector<std::string> write_gguf_model(const std::filesystem::path& path, const Gpt& model,
                                          const Tokenizer& tokenizer,
                                          const GgufModelOptions& options = {});

}  // namespace headlight
