#pragma once

#include <filesystem>
#include <limits>
#include <string>

#include "headlight/nn/gpt.h"

namespace headlight {

// What nanoGPT's ckpt.pt says besides the weights.
struct NanoGptDetails {
  Index iteration = 0;
  double best_validation_loss = std::numeric_limits<double>::infinity();
  std::string dataset;  // sample.py looks for data/DATASET/meta.pkl, the vocabulary
};

// Throws Error, one line that says what and why, for a model that nanoGPT's class GPT cannot
// express: a head of its own, norms behind, pruned heads, relu, another layer norm epsilon, a type
// other than float32. nanoGPT computes GELU exactly; a model of the tanh approximation is not
// refused, see nanogpt_differs().
void require_nanogpt(const GptConfig& config);

// True for a model of the tanh approximation of GELU, which nanoGPT computes exactly instead: its
// logits differ by about 1e-3.
bool nanogpt_differs(const GptConfig& config);

// Writes a checkpoint that nanoGPT's train.py and sample.py open (model, model_args, iter_num,
// best_val_loss, config), as torch.save does: a zip archive of a pickle and the raw elements.
// torch.load(weights_only=True) reads it. The file is replaced in one step.
// Throws Error for what require_nanogpt refuses and a failed write.
void write_nanogpt_checkpoint(const std::filesystem::path& path, const Gpt& model,
                              const NanoGptDetails& details = {});

}  // namespace headlight
