#pragma once

#include <filesystem>
#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// Tuned lens (Belrose et al., arXiv 2303.08112): an affine map of the residual stream before each
// layer, fitted so that the last norm and the head predict the model's own distribution.
struct TunedLens {
  struct Translator {
    Tensor weight;     // [C, C]
    Tensor bias = {};  // [C]; undefined: none
  };
  // [L], by layer: stream + weight stream + bias is read instead of the layer's input.
  std::vector<Translator> translators;

  // Returns the translated stream [N, C] of a layer's input.
  Tensor translated(const Tensor& stream, Index layer) const;
};

// Reads the layer translators of the package tuned-lens: its params.pt, or a .safetensors file,
// with the tensors 0.weight, 0.bias, 1.weight ...; or a folder with params.pt or
// params.safetensors. Throws Error, one line with the path, for other files, missing layers and
// other shapes.
TunedLens load_tuned_lens(const std::filesystem::path& path);

}  // namespace headlight
