#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "headlight/generate/weights.h"
#include "headlight/nn/gpt.h"
#include "headlight/tensor/stored_floats.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// A model on disk is a directory in the layout of Hugging Face's transformers: config.json,
// model.safetensors, tokenizer.json and small settings files. Its model_type is the first family
// that can express the model (gpt2, gpt_neo, ...), else "headlight".

struct LoadedModel {
  std::unique_ptr<Gpt> model;
  std::unique_ptr<Tokenizer> tokenizer;
  std::filesystem::path directory;  // source directory, or file of another program
};

// Called with one line for each unused part of a model's files.
using WarningSink = std::function<void(const std::string& line)>;

struct LoadOptions {
  DType dtype = DType::float32;  // type of the parameters, whatever the file holds
  // Changes the configuration before the model is created: dropout, or fewer positions.
  std::function<void(GptConfig&)> adjust = {};
  bool adapter = true;  // adds an adapter to its base model; false: loads only the base model
  std::filesystem::path base = {};  // base model of an adapter; empty: the one that it names
  // Accepts models with causal = false, such as BERT. Callers that predict the next token keep
  // false.
  bool bidirectional = false;
  // For a model that only generates, of float32: its matrices. Checks the memory that a Decoder
  // needs as well. Matrices in another form than float32 have no elements in parameters(), and are
  // frozen.
  std::optional<MatrixForm> matrices = {};
  // Matrices that the file stores as integers stay so, as with MatrixForm::stored; other files are
  // read as without `matrices`.
  bool keeps_integers = false;
  // The token embedding and the head are parameters of float32 whatever `matrices` is, as to train
  // an adapter.
  bool layers_only = false;
  WarningSink warn = {};
  WarningSink inform = {};  // gets a line if integers of the file are expanded to `dtype`
  // Called with the share of the weights that are read, 0 to 1.
  std::function<void(double share)> progress = [](double) {};
};

// Loads a model. `path` is a run directory (its best checkpoint, else its latest), a checkpoint
// directory, a model directory of another tool, an adapter (LoRA) of PEFT, a GGUF file, or
// nanoGPT's ckpt.pt or its folder. Another tool's directory holds one model.safetensors, or shards
// with an index, of float32, float64, float16 or bfloat16; the name prefix "transformer." is
// optional. An adapter is added to the weights of its base model, which must be those that it was
// trained on if it has their fingerprint. A GGUF file has the architecture llama, qwen2, qwen3,
// gemma3, gpt2 or gptneox. nanoGPT's checkpoint has an exact GELU; see load_tokenizer() for its
// tokenizer. Converts weights to `dtype`. Throws Error, naming the file and the problem, if a file
// is missing or damaged, if the parameters do not fit in memory, or for a bidirectional model
// unless options.bidirectional is set.
LoadedModel load_model(const std::filesystem::path& path, const LoadOptions& options);
LoadedModel load_model(const std::filesystem::path& path, DType dtype = DType::float32);

// Loads the model without its tokenizer.
std::unique_ptr<Gpt> load_weights(const std::filesystem::path& path,
                                  const LoadOptions& options = {});

// Returns the tensors of model.safetensors. For GPT-2: names with the prefix "transformer.",
// attention and MLP matrices as [inputs, outputs], zero biases for a model without biases.
NamedTensors model_tensors(const Gpt& model);

// Returns the bytes of the weights that MatrixForm::stored takes; nothing if no matrix of the file
// is stored in blocks. Reads the base model of an adapter. Throws Error as load_weights() does for
// weights that do not fit the configuration.
std::optional<double> stored_weight_bytes(const std::filesystem::path& path, bool layers_only,
                                          const std::filesystem::path& base = {});

// True for a path with the name of a GGUF file or a PyTorch file (NAME.pt), unless it is a folder.
bool is_model_file(const std::filesystem::path& path);

// Returns the directory or file that load_model reads (see model_in). Throws Error without one.
std::filesystem::path find_model_directory(const std::filesystem::path& path);

// A model whose files are written: of a Gpt in the form of its family, of others in their own.
struct WrittenModel {
  WrittenModel(const Gpt& written) : model(written), gpt(&written) {}  // NOLINT: any model
  WrittenModel(const LanguageModel& written) : model(written) {}       // NOLINT: any model

  const LanguageModel& model;
  const Gpt* gpt = nullptr;
};

// Writes config.json, generation_config.json, model.safetensors, tokenizer.json and
// tokenizer_config.json into an existing directory. For a model other than Gpt, config.json holds
// only the type, vocabulary size and context length. Its tensors are the parameters and buffers
// under their own names. `floats` is the type of float32 weights in the file. Calls `progress` with
// the written share of the tensors.
void write_model_files(
    const std::filesystem::path& directory, const WrittenModel& written, const Tokenizer& tokenizer,
    StoredFloats floats = StoredFloats::float32,
    const std::function<void(double share)>& progress = [](double) {});

// Returns one line if transformers reads another tokenizer from the files of write_model_files();
// "" otherwise.
std::string tokenizer_warning(const GptConfig& config, const Tokenizer& tokenizer);

// Writes the files of write_model_files() that describe the tokenizer.
void write_tokenizer_files(const std::filesystem::path& directory, const LanguageModel& model,
                           const Tokenizer& tokenizer);

// Loads the parameters and buffers of a model other than Gpt from the directory that load_model
// would read. `model` must have the right sizes. Throws Error as load_model does, and for files
// with another model type or other tensors.
void load_parameters(const std::filesystem::path& path, LanguageModel& model);

// Returns the configuration that load_model would use for a model directory or a model file. The
// weights override config.json or the metadata: a head that differs from the token embedding is not
// tied, and non-zero biases mean that the model has biases. Throws Error if the weights do not fit
// the configuration. An adapter may change its base's configuration: the head, or the vocabulary.
GptConfig read_effective_config(const std::filesystem::path& model, const WarningSink& warn = {},
                                const std::filesystem::path& base = {});

// Throws Error with the reason for a model that no family of Hugging Face can express: norm = post,
// layers without MLPs, pruned heads and others.
void require_exportable(const GptConfig& config);

// Clears heads_per_layer and head_width if n_head and n_embd imply them.
void simplify_heads(GptConfig& config);

// Returns the model with an MLP in every layer, for formats that require one. New MLPs have zero
// weights, so they add exactly 0. Throws Error for a model without MLPs and with norm = post: the
// norm after an MLP would change the result.
std::unique_ptr<Gpt> with_zero_mlps(const Gpt& model);

// Returns whether only attention_scale keeps this model from every family of Hugging Face, and
// queries can take the factor instead.
bool needs_default_scale(const GptConfig& config);

// Returns the model with attention_scale = 0, which is 1 / sqrt(head_width), and with larger or
// smaller queries instead. It computes the same function, up to rounding. Throws Error if queries
// are normalised or clipped.
std::unique_ptr<Gpt> with_default_scale(const Gpt& model);

}  // namespace headlight
