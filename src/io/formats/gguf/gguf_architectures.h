#pragma once

#include <string>
#include <string_view>

#include "headlight/io/gguf.h"
#include "headlight/nn/gpt_config.h"
#include "io/formats/gguf/gguf_keys.h"
#include "io/formats/weight_layout.h"

namespace headlight {

// A kind of model that llama.cpp knows and a Gpt can compute: its names, its keys, and how its
// matrices lie. Keys and tensors: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md and
// gguf-py/gguf/constants.py of llama.cpp.
struct GgufArchitecture {
  std::string_view name;  // general.architecture
  WeightLayout layout;
  // Reads what is its own into a configuration that has the sizes.
  void (*read)(GgufKeys& keys, const GgufFile& file, GptConfig& config);
  // Why llama.cpp would not compute a model's function; empty: it does.
  std::string (*refusal)(const GptConfig& config);
  // Adds what is its own, under "ARCHITECTURE.KEY", to metadata that has the sizes.
  void (*write)(const GptConfig& config, GgufMetadata& metadata);
  bool has_own_head = false;  // a tensor of its own, also where the token embedding serves
};

// The architecture of a file and the configuration of its model, settled but for the head (see
// ModelWeights::settle). Throws Error, one line that names the file and the key, for what is
// missing, damaged or not supported.
struct GgufModel {
  const GgufArchitecture* architecture = nullptr;
  GptConfig config = {};
};
GgufModel read_gguf_model(const GgufFile& file);

// The first that can express the configuration. Throws Error, "gguf: ...", when none can.
const GgufArchitecture& gguf_architecture_for(const GptConfig& config);

// general.architecture and all keys of the architecture.
GgufMetadata gguf_model_keys(const GgufArchitecture& architecture, const GptConfig& config);

}  // namespace headlight
