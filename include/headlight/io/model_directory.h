#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "headlight/nn/gpt.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// A model on disk is a directory in the layout of Hugging Face's transformers: config.json,
// model.safetensors, tokenizer.json (and small files that the library likes to see). It is of the
// first family there that can express the model: gpt2, gpt_neo; else of model_type "headlight".

struct LoadedModel {
  std::unique_ptr<Gpt> model;
  std::unique_ptr<Tokenizer> tokenizer;
  std::filesystem::path directory;  // that it was read from, or GGUF file
};

// Called with one line for each unused part of a model's files.
using WarningSink = std::function<void(const std::string& line)>;

struct LoadOptions {
  DType dtype = DType::float32;  // of the parameters, whatever the file holds
  // Changes the configuration before the model is made: dropout, or fewer positions.
  std::function<void(GptConfig&)> adjust = {};
  WarningSink warn = {};
};

// Reads a model. `path` is a run directory (its best checkpoint, else its latest), a checkpoint
// directory, or a directory that other tools wrote: one model.safetensors or shards with an
// index, of float32, float64, float16 or bfloat16, with or without the prefix "transformer.". Or it
// is a GGUF file of an architecture that a Gpt can compute: llama, qwen2, qwen3, gemma3, gpt2 or
// gptneox; the weights become those of `dtype`.
// Throws Error, naming the file and what is wrong with it, when anything is missing or damaged, or
// the parameters take more memory than there is.
LoadedModel load_model(const std::filesystem::path& path, const LoadOptions& options);
LoadedModel load_model(const std::filesystem::path& path, DType dtype = DType::float32);

// The model alone, from a directory that need not have a tokenizer.
std::unique_ptr<Gpt> load_weights(const std::filesystem::path& path,
                                  const LoadOptions& options = {});

// The tensors of model.safetensors: for GPT-2 its names with the prefix "transformer.", attention
// and MLP matrices as inputs x outputs, zeros for the biases of a model without them.
NamedTensors model_tensors(const Gpt& model);

// The directory that load_model would read, see model_in, or the GGUF file. Throws Error when there
// is no model.
std::filesystem::path find_model_directory(const std::filesystem::path& path);

// Writes config.json, model.safetensors, tokenizer.json and tokenizer_config.json into an existing
// directory. Of a model other than Gpt config.json says the type and the two sizes that every model
// has, and the tensors are its parameters and buffers by their own names.
void write_model_files(const std::filesystem::path& directory, const LanguageModel& model,
                       const Tokenizer& tokenizer);

// Fills the parameters and buffers of a model other than Gpt, which was made with the right sizes,
// from where load_model would look. Throws Error as that does, and for the files of a model of
// another type or with other tensors.
void load_parameters(const std::filesystem::path& path, LanguageModel& model);

// The configuration alone, from `directory`/config.json.
GptConfig read_model_config(const std::filesystem::path& directory);

// The configuration of the model that load_model would make of a model directory or a GGUF file:
// what config.json or the metadata says, or the weights say better: a head that differs from the
// token embedding is not tied, and biases other than zero are biases. Throws Error where the
// weights do not fit it.
GptConfig read_settled_config(const std::filesystem::path& model, const WarningSink& warn = {});

// Throws Error, saying what and why, for a model that none of Hugging Face's families can express,
// such as one with norms behind, without MLPs, or with pruned heads.
void require_exportable(const GptConfig& config);

// Drops a list of heads and a head width that say no more than n_head and n_embd do.
void simplify_heads(GptConfig& config);

// The model with an MLP in every layer, for formats that know no layer without one: where it had
// none, all weights of the MLP are 0, so that it adds exactly 0. Throws Error for norm = post,
// where the norm behind an MLP is not nothing.
std::unique_ptr<Gpt> with_zero_mlps(const Gpt& model);

// Throws Error, "WHERE NAME holds ...", for the first tensor with a value that is not finite.
void require_finite(const NamedTensors& tensors, const std::string& where);

// Copies the elements of `from` into the tensors of the same name in `into`. Both must have the
// same names and shapes. Throws Error naming `where` and the first tensor that is missing, too many
// or of another shape.
void copy_tensors(const NamedTensors& from, const NamedTensors& into, const std::string& where);

}  // namespace headlight
