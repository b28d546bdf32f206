#pragma once

#include "headlight/nn/language_model.h"

namespace headlight {

// Returns the tensors in the files of a model other than Gpt: parameters and buffers.
NamedTensors saved_tensors(const LanguageModel& model);

}  // namespace headlight
