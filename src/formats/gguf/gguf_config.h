#pragma once

#include "formats/gguf/gguf_architecture.h"

namespace headlight {

// Returns the architecture of a file and its model's configuration, complete except for the head
// (see ModelWeights::infer_missing_fields). Throws Error, one line with the file and the key, for
// anything missing, damaged or not supported.
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
