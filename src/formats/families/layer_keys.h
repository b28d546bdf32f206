#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "formats/huggingface/config_keys.h"
#include "formats/huggingface/rope_config.h"
#include "formats/huggingface/weight_layout.h"

// What families of many kinds share: keys of windows and dropouts, and names of tensors.
namespace headlight {

// Returns the common window of all layers with a window; 0 if they differ or there is none.
Index common_window(const GptConfig& config);
bool has_window(const GptConfig& config, Index layer);

// Reads or writes sliding_window, the window of all layers that have one, and returns it: 0 if
// there is none. `none` is its value in files of models without windows.
Index window_key(const ConfigKeys& keys, const GptConfig& config, Index fallback,
                 const Json& none = {});
// Reads or writes layer_types, the layers with the window. `is_sliding` decides if it is missing.
void layer_types(const ConfigKeys& keys, GptConfig& config, Index window,
                 const std::function<bool(Index layer)>& is_sliding);

// Reads or writes dropouts of a family that lacks keys for them, under keys of Headlight, if they
// are `needed`.
void own_dropouts(const ConfigKeys& keys, GptConfig& config, bool needed);

// Names of a part's tensor, without the layer and ".weight". Three names, separated by blanks,
// belong to the queries, keys and values.
struct PartNames {
  Part part;
  std::string_view name;       // in Hugging Face
  std::string_view gguf = {};  // in llama.cpp
};

// Returns the tensors of a weight whose part is in the list: "LAYERS3.NAME.weight", or
// "NAME.weight" outside of layers. A part that is not in it is one tensor with our name.
std::vector<StoredTensor> named_tensors(const Weight& weight, const GptConfig& config,
                                        std::string_view layers, std::span<const PartNames> names,
                                        std::string_view PartNames::*column = &PartNames::name);

}  // namespace headlight
