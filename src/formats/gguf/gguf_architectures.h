#pragma once

#include <string>
#include <string_view>

#include "formats/gguf/gguf_keys.h"
#include "formats/huggingface/families.h"
#include "headlight/formats/gguf/gguf.h"
#include "headlight/nn/gpt_config.h"

namespace headlight {

class GgufKeyWriter;

// An architecture of llama.cpp that a Gpt can compute: its names, its keys, and the layout of its
// matrices. Keys and tensors: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md and
// gguf-py/gguf/constants.py of llama.cpp.
struct GgufArchitecture {
  std::string_view name;  // general.architecture
  WeightLayout layout;
  const ModelFamily& family;  // Hugging Face's name for it
  Activation activation = Activation::silu;
  // Returns why llama.cpp cannot compute a model of the family; "" if it can. Null: no reason.
  std::string (*own_refusal)(const GptConfig& config) = nullptr;
  // Reads the architecture's own keys into a configuration that already has the sizes.
  void (*read)(GgufKeys& keys, const GgufFile& file, GptConfig& config);
  // Adds the architecture's own keys, "ARCHITECTURE.KEY", to metadata that already has the sizes.
  void (*write)(const GptConfig& config, GgufKeyWriter& keys);
  bool has_own_head = false;  // stores a head tensor even if the head is tied
};

// Returns the architecture of a file and its model's configuration, complete except for the head
// (see ModelWeights::settle). Throws Error, one line with the file and the key, for anything
// missing, damaged or not supported.
struct GgufModel {
  const GgufArchitecture* architecture = nullptr;
  GptConfig config = {};
};
GgufModel read_gguf_model(const GgufFile& file);

// Returns the first architecture that can express the model. Throws Error, "gguf: ...", without
// one.
const GgufArchitecture& gguf_architecture_for(const GptConfig& config);

// Returns general.architecture and all keys of the architecture.
GgufMetadata gguf_model_keys(const GgufArchitecture& architecture, const GptConfig& config);

}  // namespace headlight
