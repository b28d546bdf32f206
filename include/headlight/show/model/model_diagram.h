#pragma once

#include <string>

#include "headlight/interpret/scores/head_verdict.h"
#include "headlight/nn/gpt_config.h"

// Pictures of a model's architecture.
namespace headlight {

struct ModelDiagramOptions {
  std::string title = {};  // name of the model
  Language language = Language::english;
};

// Returns the architecture as an SVG figure: the residual stream from the tokens to the logits,
// with the parts of one layer beside it (of the first layer with the most heads), the shapes of the
// vectors on the arrows, parameters in the boxes, and a table of all matrices. T is the number of
// tokens. Throws Error for an invalid configuration.
std::string model_diagram_svg(const GptConfig& config, const ModelDiagramOptions& options = {});

}  // namespace headlight
