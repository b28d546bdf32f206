#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "headlight/text/tokenizer.h"

namespace headlight {

// The tokenizer in a folder: tokenizer.json or, where that is missing, GPT-2's vocab.json and
// merges.txt; or that of a GGUF file. What begins, ends and pads texts is what the other files of
// the folder, or the keys of the GGUF file, say, and so is the chat template. Throws Error naming
// the file when there is none or Headlight cannot reproduce it.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory);

// The tokenizer that a user names: a tokenizer.json, nanoGPT's meta.pkl, a folder that holds one of
// them or that load_tokenizer() reads, a run directory (its best checkpoint, else its latest), or a
// GGUF file. Throws Error naming the path.
std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& path);

// Throws Error when `directory` is a model or a run, whose tokenizer must stay.
void require_no_model(const std::filesystem::path& directory);

// Writes tokenizer.json and tokenizer_config.json, which Hugging Face's AutoTokenizer reads, into
// `directory`, which is made when it is missing, and generation_config.json where several tokens
// end a text. Throws Error as require_no_model() does, and when a step fails.
void save_tokenizer(const std::filesystem::path& directory, const Tokenizer& tokenizer);

// Writes the tokenizer_config.json of a folder: the special tokens, the chat template and, if
// given, the context length.
void write_tokenizer_config(const std::filesystem::path& directory, const Tokenizer& tokenizer,
                            std::optional<Index> context_length = {});

// Writes the generation_config.json of a folder: the ids of tokens that begin, end and pad texts.
void write_generation_config(const std::filesystem::path& directory, const Tokenizer& tokenizer);

}  // namespace headlight
