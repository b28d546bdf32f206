#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "headlight/text/tokenizer.h"

namespace headlight {

// The tokenizer as a Hugging Face tokenizer.json, which the Python libraries `tokenizers` and
// `transformers` open: they give the same ids and text. Two differences are theirs: they read the
// names of special tokens out of the text, and decode <|unk|> to nothing.
std::string to_tokenizer_json(const Tokenizer& tokenizer);

// The tokenizer of a tokenizer.json whose ids Headlight can reproduce: one token per character, or
// one per byte. Throws Error, one line that begins with `name` and says the key, for anything else,
// byte-pair merges included.
std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view text, std::string_view name);

}  // namespace headlight
