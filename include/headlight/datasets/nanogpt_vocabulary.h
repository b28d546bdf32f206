#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "headlight/tokenizers/char_tokenizer.h"

namespace headlight {

// nanoGPT's meta.pkl: the character vocabulary that prepare.py writes beside train.bin. It is a
// Python pickle of {"vocab_size": V, "itos": {0: "\n", 1: " ", ...}, "stoi": {"\n": 0, ...}}. The
// reader supports only the pickle operations that this dictionary needs (protocols 2 to 5): it
// cannot call or load anything.

// Reads the tokenizer of a meta.pkl: its characters with their ids. `fallback` is the position of
// <|endoftext|> and <|unk|>, which nanoGPT lacks. A file with ids for both keeps their places.
// Throws Error naming the file for any other content.
CharTokenizer read_nanogpt_vocabulary(const std::filesystem::path& path,
                                      SpecialTokens fallback = SpecialTokens::last);

// Parses the bytes of a meta.pkl. `name` begins every error message.
CharTokenizer parse_nanogpt_vocabulary(std::string_view bytes, std::string_view name,
                                       SpecialTokens fallback = SpecialTokens::last);

// Returns the tokenizer of the meta.pkl beside a token file or in a folder; null if there is none.
std::unique_ptr<Tokenizer> vocabulary_beside(const std::filesystem::path& data);

// Throws Error if meta.pkl beside a token file maps an id to another character than `tokenizer`
// does. Ignores a meta.pkl that is not nanoGPT's. Returns the number of ids that the file may use:
// meta.pkl's, else all of the tokenizer.
Index require_same_vocabulary(const std::filesystem::path& data, const Tokenizer& tokenizer);

}  // namespace headlight
