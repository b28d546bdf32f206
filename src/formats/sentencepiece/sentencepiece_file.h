#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/tokenizers/piece_table.h"

namespace headlight {

// A tokenizer.model of SentencePiece, a protocol buffer
// (github.com/google/sentencepiece, file src/sentencepiece_model.proto).
struct SentencePieceFile {
  PieceTable pieces;
  std::vector<float> scores;  // [V]
  bool unigram = true;        // false: BPE
  bool byte_fallback = false;
  std::string_view charsmap;  // precompiled rules of the normalizer; "": none
  bool prefix = true;         // add_dummy_prefix
  bool single_blanks = true;  // remove_extra_whitespaces
};

// Reads the bytes of a file, which must outlive the result. Throws Error, one line that begins with
// `name`, for bytes that are no such file, models of words or characters, blanks behind words,
// blanks that are not escaped, and unused tokens of BPE models.
SentencePieceFile read_sentencepiece_file(std::string_view bytes, const std::string& name);

}  // namespace headlight
