#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "headlight/datasets/dataset.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// Importance of the columns of each matrix [outputs, inputs], by the name of the weight in
// Gpt::parameters(): the mean square of each input, [inputs], as in llama.cpp's imatrix. Rounding
// errors of a column change the outputs in proportion to it.
using MatrixImportance = std::map<std::string, std::vector<float>>;

struct CalibrationOptions {
  Index batch_size = 4;
  Index block_size = 512;      // at most; shorter for models with a shorter context
  Index max_tokens = 1 << 16;  // in batches that are spread evenly over the data
  std::function<void(double share)> progress = [](double) {};  // finished share, 0 to 1
};

// Measures the inputs of all matrices of the layers and of the logits while the model reads the
// data. Inputs that are always near 0 count as 1 % of the mean. Bits do not depend on the number of
// threads. Throws Error if the dataset has no target and if an input is not finite.
MatrixImportance measure_importance(const Gpt& model, const TokenDataset& data,
                                    const CalibrationOptions& options = {});

}  // namespace headlight
