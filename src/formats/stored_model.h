#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "formats/families/families.h"
#include "formats/huggingface/model_weights.h"
#include "headlight/nn/gpt_config.h"

namespace headlight {

// A model on disk: its configuration, and its weights, which are not read yet.
struct StoredModel {
  std::string_view type;  // model_type or architecture
  GptConfig config;
  ModelWeights weights;
  std::string unread = {};  // one line about ignored keys of config.json, or ""
};

// Reads the config.json of a folder of transformers. Throws Error as parse_model_config() does.
ModelConfig read_model_config(const std::filesystem::path& directory);

// Opens a folder of transformers, or a file of another program. Reads its configuration and the
// names of its tensors. Throws Error for a path that is none of them.
StoredModel open_model(const std::filesystem::path& path);

}  // namespace headlight
