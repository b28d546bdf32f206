#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/nn/lora_options.h"
#include "headlight/nn/module.h"

namespace headlight {

// Consecutive rows of the matrix of a Linear.
struct LoraModule {
  std::string matrix;  // name of the Linear in the model: "h.3.attn.c_attn"
  std::string name;    // of the update in that Linear: "q"
  Index first_row = 0;
  Index rows = 0;  // P
  // Rank and alpha of this update; none: the options' values.
  std::optional<Index> rank = {};
  std::optional<double> alpha = {};
};

// Adds an update to each module and freezes all other parameters. Starts as in PEFT: a is uniform
// within 1 / sqrt(I) of 0, b is 0, lengths are the rows' own, so that the model computes the same
// at first. Throws Error for a module that does not exist, and with DoRA for rows of zeros.
void add_lora(Module& model, const std::vector<LoraModule>& modules, const LoraOptions& options,
              const RandomStream& random);

}  // namespace headlight
