#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "headlight/text/char_tokenizer.h"

namespace headlight {

// nanoGPT's meta.pkl, which its prepare.py writes beside train.bin for texts cut into characters: a
// Python pickle of {"vocab_size": V, "itos": {0: "\n", 1: " ", ...}, "stoi": {"\n": 0, ...}}. Of a
// pickle's operations only those are known that such a dictionary needs (protocols 2 to 5); nothing
// can be called or loaded.

// The tokenizer of such a file: its characters with their ids, then <|endoftext|> and <|unk|>,
// which nanoGPT does not have. What write_nanogpt_vocabulary() has written gives the tokenizer that
// it came from. Throws Error naming the file for anything else.
CharTokenizer read_nanogpt_vocabulary(const std::filesystem::path& path);

// The same for the bytes of a file; `name` begins every message.
CharTokenizer parse_nanogpt_vocabulary(std::string_view bytes, std::string_view name);

// Writes a meta.pkl. Throws Error for a tokenizer that is not of characters, and a failed write.
void write_nanogpt_vocabulary(const std::filesystem::path& path, const Tokenizer& tokenizer);

// The tokenizer that meta.pkl beside a token file gives, or in a folder of such files; null when
// there is no meta.pkl.
std::unique_ptr<Tokenizer> vocabulary_beside(const std::filesystem::path& data);

// Throws Error when meta.pkl beside a token file gives its ids to other characters than `tokenizer`
// does. A file of that name that is not nanoGPT's says nothing.
void require_same_vocabulary(const std::filesystem::path& data, const Tokenizer& tokenizer);

}  // namespace headlight
