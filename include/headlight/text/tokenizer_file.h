#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "headlight/text/tokenizer.h"

namespace headlight {

// The tokenizer as a Hugging Face tokenizer.json, which the Python libraries `tokenizers` and
// `transformers` open: they give the same ids and text. Two differences are theirs: they read the
// names of special tokens out of the text, and decode <|unk|> to nothing. A tokenizer that came
// from a file with other stages than Headlight's own is written as that file.
std::string to_tokenizer_json(const Tokenizer& tokenizer);

// The tokenizer of a tokenizer.json whose ids Headlight can reproduce: one token per character, one
// per byte, or byte-pair encoding of bytes or of characters that fall back to bytes, with the
// normalizers NFC, Prepend and Replace, the pre-tokenizers ByteLevel, Split, Digits and Metaspace
// and added tokens of all kinds, as GPT-2, GPT-NeoX, Llama 2 and 3, Mistral, Qwen, SmolLM and Gemma
// have them. `end_name` is the special token that ends a text, as eos_token in
// tokenizer_config.json; without it, it is <|endoftext|> or another that is known. Throws Error,
// one line that begins with `name` and says the key, for anything else.
std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view text, std::string_view name,
                                                std::string_view end_name = {});

// The tokenizer of the two files that GPT-2 came with: vocab.json, the ids by token, <|endoftext|>
// among them, and merges.txt, a merge "LEFT RIGHT" per line by rank, perhaps after a first line
// "#version: ...". Throws Error, one line that begins with `name`, usually the folder of both, and
// says which of the two.
std::unique_ptr<Tokenizer> parse_gpt2_vocabulary(std::string_view vocab_json,
                                                 std::string_view merges_txt,
                                                 std::string_view name);

}  // namespace headlight
