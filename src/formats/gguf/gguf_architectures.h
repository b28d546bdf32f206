#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/families/families.h"
#include "formats/gguf/gguf_keys.h"
#include "headlight/formats/gguf/gguf.h"
#include "headlight/nn/gpt_config.h"

namespace headlight {

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

// Names of tensors.
inline constexpr std::string_view kGgufEmbedding = "token_embd.weight";
inline constexpr std::string_view kGgufHead = "output.weight";

// Returns all architectures. A model is written as the first one that can express it.
std::span<const GgufArchitecture> gguf_architectures();

}  // namespace headlight
