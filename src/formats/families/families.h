#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/families/round_trip.h"
#include "formats/gguf/gguf_architecture.h"
#include "formats/huggingface/config_keys.h"
#include "formats/huggingface/weight_layout.h"
#include "headlight/nn/architecture.h"
#include "headlight/tensor/stored_floats.h"
#include "headlight/tokenizers/tokenizer.h"

// Model families of Hugging Face's transformers that a Gpt can compute, and of llama.cpp. Each one
// is one row: its names, its keys, and the layout of its matrices.
namespace headlight {

struct ModelFamily {
  std::string_view type;          // model_type in config.json: "gpt2"
  std::string_view architecture;  // class in transformers: "GPT2LMHeadModel"
  WeightLayout layout;
  // Reads or writes the configuration. Reading throws Error about a key with an unknown or
  // unsupported value. Writing may change `config`: fields without a key get the family's value.
  void (*keys)(const ConfigKeys& keys, GptConfig& config);
  std::span<const KeyAlias> aliases = {};
  std::optional<GgufArchitecture> gguf = {};
};

// Families by kind, each in a file of its own.
std::span<const ModelFamily> gpt2_families();
std::span<const ModelFamily> gpt_neo_families();
std::span<const ModelFamily> gpt_neox_families();
std::span<const ModelFamily> llama_families();
std::span<const ModelFamily> gemma_families();
std::span<const ModelFamily> phi_families();
std::span<const ModelFamily> layer_norm_families();  // Llama's layers with layer norms
std::span<const ModelFamily> llama_relatives();
std::span<const ModelFamily> olmo_families();
std::span<const ModelFamily> opt_families();
std::span<const ModelFamily> bert_families();
// Models that no family can express: GPT-2's names, and keys of Headlight.
std::span<const ModelFamily> headlight_families();

// Returns all families. A model is written as the first one that can express it; the last one,
// "headlight", can express every model.
const std::vector<const ModelFamily*>& model_families();

// Returns why a family cannot express a model. It can if reading what it writes gives the same
// model.
Refusal refusal_of(const ModelFamily& family, const GptConfig& config);
// Returns the reason of the family that differs in the fewest keys, for a model of type
// "headlight".
std::string nearest_refusal(const GptConfig& config);
// Returns the family of a model_type. Throws Error if it is unknown.
const ModelFamily& family_of_type(std::string_view type);
// Returns the first family that can express the configuration.
const ModelFamily& family_for(const GptConfig& config);
bool is_headlight(const ModelFamily& family);

// Returns the whole config.json; `floats` is the type of the weights in the file.
std::string family_config_json(const ModelFamily& family, const GptConfig& config,
                               const Tokenizer& tokenizer, StoredFloats floats);

// Reads a config.json of any family. Throws Error, one line with `name` and the key, for an unknown
// model type, a missing or absurd size, and unsupported options that would change the model's
// function.
struct ModelConfig {
  const ModelFamily* family = nullptr;
  GptConfig config = {};
  std::vector<std::string> unread = {};  // keys without effect that may have a meaning
};
ModelConfig parse_model_config(std::string_view json, std::string_view name);

// The keys of GPT-2, whose names Headlight's own files have, too.
void gpt2_keys(const ConfigKeys& keys, GptConfig& config);

}  // namespace headlight
