#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/data/dataset.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// Files of token ids, as nanoGPT's prepare.py writes them (16-bit numbers, little endian, and
// nothing else; some of its forks write 32-bit ones) and llm.c's scripts (the same behind 1024
// bytes of header, which say the width and the number of ids).

// How wide the ids of a file are; the names are NumPy's.
enum class TokenDtype { automatic, uint16, uint32 };

template <>
inline constexpr auto kChoices<TokenDtype> =
    std::to_array<Choice<TokenDtype>>({{"auto", TokenDtype::automatic},
                                       {"uint16", TokenDtype::uint16},
                                       {"uint32", TokenDtype::uint32}});

// What a file needs for the ids below `vocab_size`: uint16 up to 65,536 of them, as nanoGPT has it.
TokenDtype token_dtype_for(Index vocab_size);

// What a folder of shards that `tokenizer encode` has written says of them.
inline constexpr std::string_view kShardManifest = "shards.json";

// Bytes of one id; `dtype` is not automatic.
Index id_bytes(TokenDtype dtype);

// True for the name of a token file: it ends in ".bin".
bool is_token_file(const std::filesystem::path& path);

// A token file that is open.
struct TokenFile {
  TokenSequence ids;  // stay in the file, which is read where they are needed
  TokenDtype dtype = TokenDtype::uint16;
  std::string note;  // why ids were taken for 32-bit ones; empty: nothing that one should know
};

// Opens a file of ids that `tokenizer` has made. `dtype` says how wide they are; when it is
// automatic, llm.c's header says it, else a vocabulary above 65,536 means 32 bits, else the file
// itself: 32 bits when every second 16-bit number is 0.
// All ids are looked at once, a megabyte at a time, and again whenever some are read, so that a
// file that is damaged, even while it is in use, is an Error; so is one that is written to or cut
// after it was opened (see InputFile::require_unchanged).
// An index of documents beside it (PREFIX.idx, as Megatron-LM writes it) says the width, too.
// Throws Error "PATH: ..." when it cannot be read or is not a regular file, the width cannot be
// told, it holds no whole number of ids, an id is not below the tokenizer's vocabulary, or
// nanoGPT's meta.pkl beside it gives the ids to other characters than the tokenizer does.
TokenFile open_token_file(const std::filesystem::path& path, const Tokenizer& tokenizer,
                          TokenDtype dtype = TokenDtype::automatic);

// The tokens around the documents of a model. By default documents of a model that has a token of
// its own for the beginning begin as its prompts do, with that token or with nothing. Models like
// GPT-2 have <|endoftext|> on both sides.
DocumentEnds document_ends(const Tokenizer& tokenizer, BeginToken begin = BeginToken::automatic);

// The ids of such a file as one stream. Appends what the user should know to `notes`. Throws Error
// as open_token_file() does, and when the file holds no id.
TokenDataset token_file_dataset(const std::filesystem::path& path, const Tokenizer& tokenizer,
                                TokenDtype dtype, std::vector<std::string>& notes,
                                BeginToken begin = BeginToken::automatic);

// The documents of a token file that has an index beside it, each between document_ends(): both
// files stay where they are. Documents may carry these in the file, in front, behind or neither,
// but all of them in the same way as the first. Throws Error as token_file_dataset() does, and when
// the index is missing or says something else than the file.
TokenDataset token_file_documents(const std::filesystem::path& path, const Tokenizer& tokenizer,
                                  TokenDtype dtype, std::vector<std::string>& notes,
                                  BeginToken begin = BeginToken::automatic);

// True when an index of documents lies beside a token file.
bool has_documents(const std::filesystem::path& path);

// The bytes that a file without header has for ids; `dtype` is not automatic, and holds them.
std::string token_file_bytes(std::span<const std::int32_t> ids, TokenDtype dtype);

}  // namespace headlight
