#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "headlight/nn/gpt.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// A model on disk is a directory in the layout of Hugging Face's GPT-2: config.json,
// model.safetensors, tokenizer.json (and small files that the transformers library likes to see).

struct LoadedModel {
  std::unique_ptr<Gpt> model;
  std::unique_ptr<Tokenizer> tokenizer;
  std::filesystem::path directory;  // where it was read from
};

// Reads a model. `path` is a run directory (its best checkpoint, else its latest), a checkpoint
// directory, or a GPT-2 directory that other tools wrote.
// Throws Error, naming the file and what is wrong with it, when anything is missing or damaged.
LoadedModel load_model(const std::filesystem::path& path, DType dtype = DType::float32);

// The directory that load_model would read.
std::filesystem::path find_model_directory(const std::filesystem::path& path);

// Writes config.json, model.safetensors, tokenizer.json and tokenizer_config.json into an existing
// directory.
void write_model_files(const std::filesystem::path& directory, const Gpt& model,
                       const Tokenizer& tokenizer);

// The configuration alone, from `directory`/config.json.
GptConfig read_model_config(const std::filesystem::path& directory);

// Copies the elements of `from` into the tensors of the same name in `into`. Both must have the
// same names and shapes. Throws Error naming `where` and the first tensor that is missing, too many
// or of another shape.
void copy_tensors(const NamedTensors& from, const NamedTensors& into, const std::string& where);

}  // namespace headlight
