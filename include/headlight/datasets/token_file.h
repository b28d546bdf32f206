#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/datasets/dataset.h"
#include "headlight/datasets/token_dtype.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Files of token ids: nanoGPT's (16-bit ids, little endian, without a header; some forks write
// 32-bit ids) and llm.c's (ids after a header of 1024 bytes with their width and number).

// Returns the width for ids below `vocab_size`: uint16 up to 65,536 ids, as in nanoGPT.
TokenDtype token_dtype_for(Index vocab_size);

// Name of the file that describes the shards in a folder of `tokenizer encode`.
inline constexpr std::string_view kShardManifest = "shards.json";

// Name and size of one shard: a token file with an index of its documents beside it.
struct Shard {
  std::string name = {};  // "shard_000000.bin"
  Index tokens = 0;
  Index documents = 0;
};

// Returns the size of one id in bytes. `dtype` must not be automatic.
Index id_bytes(TokenDtype dtype);

// True for the name of a token file: it ends in ".bin", in any case.
bool is_token_file(const std::filesystem::path& path);

// An open token file.
struct TokenFile {
  TokenSequence ids;  // read from the file on demand
  TokenDtype dtype = TokenDtype::uint16;
  std::string note;  // for the user, if the ids were guessed to be 32-bit; else empty
};

// Opens a file of ids that `tokenizer` has made. `dtype` is the width of the ids. If it is
// automatic, a document index beside the file (PREFIX.idx, as Megatron-LM writes it) or llm.c's
// header gives the width. Without both, a vocabulary above 65,536 means 32 bits. Otherwise ids have
// 32 bits if most upper halves of the 32-bit words are 0, else 16 bits.
// Checks all ids once, a megabyte at a time, and again on every read: damage is an Error even while
// the file is in use. Writing to the file or cutting it after opening is an Error, too (see
// InputFile::require_unchanged).
// Throws Error "PATH: ..." if the file cannot be read, is not a regular file or not a whole number
// of ids, if the width is ambiguous, if an id is outside the tokenizer's vocabulary, or if
// nanoGPT's meta.pkl beside it maps ids to other characters than the tokenizer does.
TokenFile open_token_file(const std::filesystem::path& path, const Tokenizer& tokenizer,
                          TokenDtype dtype = TokenDtype::automatic);

// Returns the tokens around the documents of a model. If the begin token differs from the end
// token, documents by default begin as prompts do: with the begin token or with nothing. If both
// are the same, as <|endoftext|> in GPT-2, it is on both sides.
DocumentEnds document_ends(const Tokenizer& tokenizer, BeginToken begin = BeginToken::automatic);

// Returns the ids of a token file as one stream. Appends lines for the user to `notes`. Throws
// Error as open_token_file() does, and if the file is empty.
TokenDataset token_file_dataset(const std::filesystem::path& path, const Tokenizer& tokenizer,
                                TokenDtype dtype, std::vector<std::string>& notes,
                                BeginToken begin = BeginToken::automatic);

// Returns the documents of a token file with an index beside it, each between document_ends().
// Reads both files on demand. The file may already hold these tokens before or after its documents,
// but in the same way for all documents as for the first. Throws Error as token_file_dataset()
// does, and if the index is missing or does not match the file.
TokenDataset token_file_documents(const std::filesystem::path& path, const Tokenizer& tokenizer,
                                  TokenDtype dtype, std::vector<std::string>& notes,
                                  BeginToken begin = BeginToken::automatic);

// Returns the largest id of a token file plus 1. `dtype` as in open_token_file(). Throws Error if
// the file cannot be read or its width is ambiguous.
Index id_count(const std::filesystem::path& path, TokenDtype dtype = TokenDtype::automatic);

// True if a token file has an index of documents beside it.
bool has_documents(const std::filesystem::path& path);

// Returns the bytes of a file without header. `dtype` must not be automatic and must fit the ids.
std::string token_file_bytes(std::span<const std::int32_t> ids, TokenDtype dtype);

}  // namespace headlight
