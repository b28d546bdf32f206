#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "headlight/formats/gguf/gguf.h"
#include "headlight/formats/gguf/matrix_importance.h"
#include "headlight/nn/gpt.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

struct GgufModelOptions {
  GgufType type = GgufType::f32;  // storage type of matrices; see GgufSource
  std::string name = {};          // general.name
  // Keys to write ("tokenizer.ggml.model" and so on) instead of keys made from the tokenizer.
  GgufMetadata tokenizer = {};
  // Other keys to keep, for example general.license. A general.name here overrides `name`. Words by
  // which llama.cpp chooses another tokenizer, such as "phi3", get a blank.
  GgufMetadata general = {};
  // Importance of the matrices' columns in the search of scales. Matrices without one have equal
  // columns.
  MatrixImportance importance = {};
  std::function<void(double share)> progress = [](double) {};  // written share, 0 to 1
};

// Throws Error, "gguf: ...", for a model that no architecture of llama.cpp can express. load_model
// lists the architectures. Each one fixes activation, windows and scales.
void require_gguf_model(const GptConfig& config);

// Writes a model with its tokenizer for llama.cpp. Matrices have the types that llama-quantize
// chooses. Vectors and learned positions stay F32, and the matrix of logits has at least the 6.6
// bits of Q6_K. Among Q4_K, values of the first 4 layers and outputs of the first eighth of the
// MLPs have Q5_K. Rows that are not whole blocks of 256 have blocks of 32: Q5_0 instead of Q4_K,
// Q5_1 instead of Q5_K, Q8_0 instead of Q6_K; other rows have F16. Returns warnings, one line each,
// about these matrices and about differences in llama.cpp's results. SentencePiece tokenizers
// (marks for blanks, bytes for unknown characters) get scores. llama.cpp's keys cannot express
// every tokenizer: there, char tokenizers drop unknown characters. So tokenizer.huggingface.json
// holds the whole tokenizer, and load_model prefers it. Model ids without a token are named
// [PAD<id>]. Throws Error as require_gguf_model() and write_gguf() do, and for a tokenizer whose
// pre-tokenizer llama.cpp lacks or whose merges cannot become scores.
std::vector<std::string> write_gguf_model(const std::filesystem::path& path, const Gpt& model,
                                          const Tokenizer& tokenizer,
                                          const GgufModelOptions& options = {});

}  // namespace headlight
