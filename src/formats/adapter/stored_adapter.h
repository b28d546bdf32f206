#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formats/huggingface/weight_layout.h"
#include "headlight/formats/gguf/gguf.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// The update of a matrix: scale b a is added.
struct StoredUpdate {
  Tensor a;  // [R, I]
  Tensor b;  // [P, R]
  double scale = 1;
  Tensor lengths = {};  // [P]: of the rows after the update (DoRA); undefined: as they come
};

// Rows that replace rows of the token embedding or the head.
struct StoredRows {
  std::vector<std::int32_t> ids;
  Tensor rows;  // [N, C]
};

// The tensors of an adapter, by names of the files of its base model's family.
struct StoredAdapter {
  std::string where;                                 // its file, for errors
  std::map<std::string, StoredUpdate> updates = {};  // by module: "model.layers.0.mlp.up_proj"
  std::map<std::string, StoredRows> rows = {};       // by module
  std::map<std::string, Tensor> weights = {};        // that replace others: "lm_head.weight"
  bool ties_weights = false;                         // see AdapterSettings
};

// Reads a folder of PEFT. Throws Error for settings that are not supported, and for tensors with
// other names, shapes that do not fit together and numbers that are not finite.
StoredAdapter read_peft_adapter(const std::filesystem::path& directory);

// Reads an adapter of llama.cpp (general.type = adapter). Throws Error as read_peft_adapter() does.
StoredAdapter read_gguf_adapter(const GgufFile& file);

// Returns the configuration of the base model after the adapter is added.
GptConfig adapted_config(const StoredAdapter& adapter, const WeightLayout& layout,
                         GptConfig config);

// Changes the weights of a model as the adapter says. Replaces the model by one of
// adapted_config() if that differs. Throws Error for names that the model lacks, shapes
// that do not fit, and results that are not finite.
void merge(const StoredAdapter& adapter, const WeightLayout& layout, std::unique_ptr<Gpt>& model);

}  // namespace headlight
