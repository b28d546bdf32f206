#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/keyed_hash.h"

namespace headlight {

// Types of SentencePiece's tokens, in its own files and in tokenizer.ggml.token_type of GGUF files.
inline constexpr std::int32_t kNormal = 1;
inline constexpr std::int32_t kUnknown = 2;
inline constexpr std::int32_t kControl = 3;
inline constexpr std::int32_t kUserDefined = 4;
inline constexpr std::int32_t kUnused = 5;
inline constexpr std::int32_t kByte = 6;

// The tokens of another program's vocabulary, their types and special ids.
struct PieceTable {
  std::vector<std::string_view> names = {};  // [V]
  TextMap<std::int32_t> ids = {};
  std::vector<std::int32_t> types = {};  // [V]
  std::int32_t begin = -1;               // -1: none
  std::int32_t end = -1;
  std::int32_t unknown = -1;
  std::deque<std::string> respelled = {};  // names that differ from the file's

  std::string name_of(std::int32_t id) const;  // "" for -1
};

// Sets the names and ids of a table; the names must outlive it. Throws Error that begins with
// `where` for no or more than 524,288 tokens, more than 32 MiB, an empty or repeated token, and one
// that is not UTF-8.
void set_names(std::vector<std::string_view> names, const std::string& where, PieceTable& table);

// Parts of a tokenizer.json.

// Returns the tokens that are found in the text before any other step: control, unknown, begin and
// end tokens, and user-defined ones.
Json added_pieces_json(const PieceTable& table);

// Returns the ids by token.
Json piece_ids_json(const PieceTable& table);

// Returns all pairs of tokens that make a token, in the order of SentencePiece, which first merges
// the pair whose result has the highest score. Equal scores are ordered as in transformers'
// generate_merges(). Throws Error that begins with `where` for more than 1,048,576 pairs and for
// tokens of more than 256 bytes.
Json piece_merges_json(const PieceTable& table, const std::vector<float>& scores,
                       const std::string& where);

Json replace_json(std::string_view from, std::string_view to);

// Returns {"type": "Sequence"} with the steps under the key `list`.
Json sequence_json(const char* list, Json steps);

// Returns the steps that turn marks into blanks and join bytes to characters. `prefix`: they remove
// the blank before a text.
Json mark_decoder_json(bool prefix);

}  // namespace headlight
