#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "formats/families/families.h"
#include "formats/huggingface/weight_layout.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/lora.h"

// Adapters (LoRA) as Hugging Face's PEFT writes them: a folder with adapter_config.json, which
// names the base model, and adapter_model.safetensors. Or as llama.cpp reads them: a GGUF file.
namespace headlight {

// Beginning of all names of tensors in an adapter of PEFT.
inline constexpr std::string_view kPeftPrefix = "base_model.model.";

// An update that a run trains, and its name in PEFT.
struct AdapterRow {
  LoraModule target;
  std::string module;  // "model.layers.3.self_attn.q_proj"
  RowOrder order;      // of b in the file
};

// An adapter that a run trains.
struct Adapter {
  std::filesystem::path base;  // model directory or file; absolute, without links
  std::string fingerprint;     // of its weights
  LoraOptions options;
  bool fan_in_fan_out = false;  // PEFT's key: the base model stores [inputs, outputs], as GPT-2
  bool in_all_layers = true;    // target_modules has names inside layers instead of whole names
  std::vector<AdapterRow> rows;
  std::vector<std::int32_t> tokens = {};        // whose rows are trained as well, ascending
  std::vector<std::string> token_modules = {};  // that have those rows: embedding, untied head

  std::vector<LoraModule> modules() const;
};

// Rank and alpha of one module.
struct ModuleSize {
  Index rank = 0;
  double alpha = 0;
};

// Matrices that an adapter updates.
struct AdaptedParts {
  std::vector<LoraTarget> targets = {};  // none: all that the model has
  std::string parts = {};  // of in_trained_parts(), such as "layer.8-"; "": everywhere
  std::map<std::string, ModuleSize> modules = {};  // by names in PEFT; none: all
};

// Plans an adapter. A model file of another program gets the names of the family that
// `headlight export --to hf` writes. Families that store queries, keys and values as one matrix
// have one row for all three. Throws Error about "lora_targets" for a target that the model lacks
// or stores inside another matrix, and about "train" for parts without such a matrix.
Adapter plan_adapter(const std::filesystem::path& base, const GptConfig& config,
                     const LoraOptions& options, const AdaptedParts& adapted);

// Returns copies of the updates that add_lora() gave to the model, and of the rows of tokens that
// train_rows() gave to it, as in the file.
NamedTensors adapter_tensors(const Adapter& adapter, const Gpt& model);

// Writes adapter_config.json and adapter_model.safetensors.
void write_adapter(const std::filesystem::path& directory, const Adapter& adapter,
                   const NamedTensors& tensors);

// An adapter that a run can continue: only updates of matrices and rows of tokens.
struct EarlierAdapter {
  LoraOptions options;
  std::map<std::string, ModuleSize> modules = {};  // by names in PEFT
  std::vector<std::int32_t> tokens = {};           // whose rows are trained, ascending
};

// Reads an adapter of a run or of PEFT to continue it. Throws Error for anything that a run does
// not train, such as whole modules and biases.
EarlierAdapter read_earlier_adapter(const std::filesystem::path& directory);

// Reads the values of the updates and rows that add_lora() and train_rows() gave to the model.
// Throws Error if the file has other tensors or numbers that are not finite.
void read_adapter(const std::filesystem::path& directory, const Adapter& adapter, Gpt& model);

// Returns the parsed adapter_config.json.
Json read_adapter_json(const std::filesystem::path& directory);

// Returns the family whose names an adapter of this model has. A model file of another program has
// the names of the family that `headlight export --to hf` writes.
const ModelFamily& family_of_base(const std::filesystem::path& base, const GptConfig& config);

// Returns the fingerprint of the weights in a model's files. It does not depend on how they are
// divided into files.
std::string weights_fingerprint(const std::filesystem::path& model);

// Returns the metadata of adapter_model.safetensors, with the fingerprint of the base's weights.
std::map<std::string, std::string> adapter_metadata(const Adapter& adapter);

// True for a folder with an adapter and without a whole model, and for a GGUF file of an adapter.
bool is_adapter(const std::filesystem::path& path);

// Throws Error about "base" if a base is given for a model that is no adapter.
void require_adapter_for(const std::filesystem::path& base, const std::filesystem::path& model);

// Returns the directory or file of the base model: `given`, or the one that adapter_config.json
// names, absolute or relative to the current folder or the adapter's. Throws Error about "base" if
// it is not there, and for a base that is an adapter itself.
std::filesystem::path base_of_adapter(const std::filesystem::path& adapter,
                                      const std::filesystem::path& given = {});

// As base_of_adapter(). Throws Error if the adapter has the fingerprint of other weights.
std::filesystem::path checked_base(const std::filesystem::path& adapter,
                                   const std::filesystem::path& given = {});

// Writes an adapter of PEFT as a GGUF file for llama.cpp. Throws Error for parts that such a file
// cannot hold.
void write_gguf_adapter(const std::filesystem::path& path, const std::filesystem::path& adapter,
                        const std::filesystem::path& base);

// Returns the configuration of the base model after an adapter is added: it may have more tokens,
// or an untied head.
GptConfig adapted_config(const std::filesystem::path& adapter, const std::filesystem::path& base,
                         const GptConfig& config);

// Adds an adapter to the weights of its base model, which was loaded from `base`. Throws Error as
// read_peft_adapter(), read_gguf_adapter() and merge() do.
void merge_adapter(const std::filesystem::path& adapter, const std::filesystem::path& base,
                   std::unique_ptr<Gpt>& model);

}  // namespace headlight
