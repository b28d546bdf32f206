#pragma once

#include <string>
#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// What one layer's heads look at in one sequence.
struct LayerAttention {
  Index layer = 0;           // number of the layer in the model
  std::vector<Index> heads;  // numbers of the heads in that layer, one per row of `weights`
  Tensor weights;            // [H, T, T] float32: weights[head][query][key]; rows sum to 1
};

// Every recorded attention map of one sequence.
struct AttentionMaps {
  std::string title;                // the model's name, for headings
  std::vector<std::string> tokens;  // [T] the tokens as text (UTF-8; may hold a lone blank or '\n')
  std::vector<LayerAttention> layers;
};

}  // namespace headlight
