#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Loads the tokenizer of a folder (tokenizer.json, else GPT-2's vocab.json and merges.txt, else
// SentencePiece's tokenizer.model), of a GGUF file, or of nanoGPT's ckpt.pt. The other files of the
// folder, or the keys of the GGUF file, give the tokens that begin, end and pad texts, and the chat
// template. They also add tokens, as in AutoTokenizer of transformers 5.24. For nanoGPT: meta.pkl
// beside the file, else the files of a folder beside it, else ../data/DATASET/meta.pkl, with the
// name of its data set. `base`: the base model of an adapter, whose tokenizer it has; empty: the
// one that it names. Throws Error naming the file if there is no tokenizer or Headlight cannot
// reproduce it.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory,
                                          const std::filesystem::path& base = {});

// Opens the tokenizer that a user names: a tokenizer.json, a tokenizer.model, nanoGPT's meta.pkl,
// a folder with one of them or with the files of load_tokenizer(), a
// run directory (its best checkpoint, else its latest), a GGUF file, another program's checkpoint,
// or an adapter with the tokenizer of its base model; see load_tokenizer(). Throws Error naming the
// path.
std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& path,
                                          const std::filesystem::path& base = {});

// Throws Error if `directory` is a model or a run, whose tokenizer must not change.
void require_no_model(const std::filesystem::path& directory);

// Writes tokenizer.json and tokenizer_config.json for Hugging Face's AutoTokenizer into
// `directory`, creating it if needed. Writes generation_config.json if several tokens end a text.
// Throws Error as require_no_model() does, and if a write fails.
void save_tokenizer(const std::filesystem::path& directory, const Tokenizer& tokenizer);

// Writes tokenizer_config.json: special tokens, chat template and, if given, the context length.
void write_tokenizer_config(const std::filesystem::path& directory, const Tokenizer& tokenizer,
                            std::optional<Index> context_length = {});

// Writes generation_config.json: the ids of the tokens that begin, end and pad texts.
void write_generation_config(const std::filesystem::path& directory, const Tokenizer& tokenizer);

}  // namespace headlight
