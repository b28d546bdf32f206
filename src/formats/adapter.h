#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/huggingface/weight_layout.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/lora.h"

// Adapters (LoRA) as Hugging Face's PEFT writes them: a folder with adapter_config.json, which
// names the base model, and adapter_model.safetensors.
namespace headlight {

// An update that a run trains, and its name in PEFT.
struct AdapterRow {
  LoraPlace place;
  std::string module;  // "model.layers.3.self_attn.q_proj"
  RowOrder order;      // of b in the file
};

// An adapter that a run trains.
struct Adapter {
  std::filesystem::path base;  // model directory or file; absolute
  LoraOptions options;
  bool fan_in_fan_out = false;  // PEFT's key: the base model stores [inputs, outputs], as GPT-2
  bool in_all_layers = true;    // target_modules has names inside layers instead of whole names
  std::vector<AdapterRow> rows;

  std::vector<LoraPlace> places() const;
};

// Matrices that an adapter updates.
struct AdaptedParts {
  std::vector<LoraTarget> targets = {};  // none: all that the model has
  std::string parts = {};  // of in_trained_parts(), such as "layer.8-"; "": everywhere
};

// Plans an adapter. A model file of another program gets the names of the family that
// `headlight export --to hf` writes. Families that store queries, keys and values as one matrix
// have one row for all three. Throws Error about "lora_targets" for a target that the model lacks
// or stores inside another matrix, and about "train" for parts without such a matrix.
Adapter plan_adapter(const std::filesystem::path& base, const GptConfig& config,
                     const LoraOptions& options, const AdaptedParts& adapted);

// Returns copies of the updates that add_lora() gave to the model, as in the file.
NamedTensors adapter_tensors(const Adapter& adapter, const Gpt& model);

// Writes adapter_config.json and adapter_model.safetensors.
void write_adapter(const std::filesystem::path& directory, const Adapter& adapter,
                   const NamedTensors& tensors);

// Reads the values of the updates that add_lora() gave to the model. Throws Error if the file has
// other tensors or numbers that are not finite.
void read_adapter(const std::filesystem::path& directory, const Adapter& adapter, Gpt& model);

// True for a folder with an adapter and without a whole model.
bool is_adapter(const std::filesystem::path& path);

// Returns the base model that adapter_config.json names: an absolute path, or relative to the
// current folder or the adapter's. Throws Error with the key if there is none.
std::filesystem::path base_of_adapter(const std::filesystem::path& directory);

// Adds any LoRA of PEFT to the weights of its base model, which was loaded from `base`. Throws
// Error for other kinds of adapters, unknown options and matrices, and tensors that do not fit.
void merge_adapter(const std::filesystem::path& directory, const std::filesystem::path& base,
                   Gpt& model);

}  // namespace headlight
