#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Returns the tokenizer as a Hugging Face tokenizer.json, which the Python libraries `tokenizers`
// and `transformers` open with the same ids and text. Two differences: they read names of special
// tokens in a text as those tokens, and decode <|unk|> to nothing. A tokenizer read from a file
// with other stages is written as that file, one of SentencePiece with the nearest stages and, for
// Headlight, its own.
std::string to_tokenizer_json(const Tokenizer& tokenizer);

// Reads a tokenizer.json whose ids Headlight can reproduce: one token per character or per byte, or
// byte-pair encoding of bytes or of characters with byte fallback. Supports the normalizers NFC,
// Prepend and Replace, the pre-tokenizers ByteLevel, Split, Digits and Metaspace, and all added
// tokens, as in GPT-2, GPT-NeoX, Llama 2 and 3, Mistral, Qwen, SmolLM and Gemma; and files written
// from a tokenizer.model of SentencePiece. `end_name` is the end-of-text token, eos_token in
// tokenizer_config.json; "": <|endoftext|> or another usual name. Throws Error, one line that
// begins with `name` and names the key, for any other file.
std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view text, std::string_view name,
                                                std::string_view end_name = {});

// Reads GPT-2's two files. vocab.json holds the ids by token, including the end-of-text token
// `end_name`; "": <|endoftext|>. merges.txt holds one merge "LEFT RIGHT" per line by rank,
// optionally after a line "#version: ...". Throws Error, one line that begins with `name`, usually
// the folder, and names the file.
std::unique_ptr<Tokenizer> parse_gpt2_vocabulary(std::string_view vocab_json,
                                                 std::string_view merges_txt, std::string_view name,
                                                 std::string_view end_name = {});

}  // namespace headlight
