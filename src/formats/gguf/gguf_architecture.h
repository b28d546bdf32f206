#pragma once

#include <string_view>

#include "formats/gguf/gguf_keys.h"
#include "formats/huggingface/weight_layout.h"
#include "headlight/nn/gpt_config.h"

namespace headlight {

// A family's architecture in llama.cpp: its names, its keys, and the layout of its matrices. Keys
// and tensors: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md and
// gguf-py/gguf/constants.py of llama.cpp.
struct GgufArchitecture {
  std::string_view name;  // general.architecture
  WeightLayout layout;
  // Reads or writes the architecture's own keys, beside the sizes. Writing may change `config`:
  // fields that llama.cpp fixes get its value.
  void (*keys)(GgufKeys& keys, GptConfig& config);
  bool has_own_head = false;  // stores a head tensor even if the head is tied
};

// Names of tensors.
inline constexpr std::string_view kGgufEmbedding = "token_embd.weight";
inline constexpr std::string_view kGgufHead = "output.weight";

}  // namespace headlight
