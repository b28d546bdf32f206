#pragma once

#include <filesystem>
#include <limits>
#include <string>

#include "headlight/nn/gpt.h"

namespace headlight {

// Fields of nanoGPT's ckpt.pt besides the weights.
struct NanoGptDetails {
  Index iteration = 0;
  double best_validation_loss = std::numeric_limits<double>::infinity();
  std::string dataset;  // sample.py reads the vocabulary from data/DATASET/meta.pkl
};

// Throws Error, one line with the reason, for a model that nanoGPT's class GPT cannot express: an
// untied head, norm = post, pruned heads, relu, another layer norm epsilon. Accepts the tanh
// approximation of GELU, see nanogpt_differs().
void require_nanogpt(const GptConfig& config);

// True if nanoGPT computes slightly other logits: the model uses the tanh approximation of GELU.
// nanoGPT's exact GELU changes logits by about 1e-3.
bool nanogpt_differs(const GptConfig& config);

// Writes a checkpoint for nanoGPT's train.py and sample.py (model, model_args, iter_num,
// best_val_loss, config) in the format of torch.save: a zip archive of a pickle and the raw
// elements. torch.load(weights_only=True) reads it. Replaces the file in one step. Calls `progress`
// with the written share, 0 to 1.
// Throws Error as require_nanogpt does, for weights other than float32, and for a failed write.
void write_nanogpt_checkpoint(
    const std::filesystem::path& path, const Gpt& model, const NanoGptDetails& details = {},
    const std::function<void(double share)>& progress = [](double) {});

}  // namespace headlight
