#pragma once

#include <memory>

#include "headlight/nn/gpt.h"

namespace headlight {

struct FoldOptions {
  // Makes each vector that is written to the residual stream have mean 0. Models with RMS norms
  // stay as they are, because their norms do not subtract the mean.
  bool center_writing = true;
  // Makes each logit's row and bias of the head have mean 0 over the vocabulary. Subtracts the same
  // number from all logits of a token, so that probabilities stay the same. Models with logit_cap
  // refuse it.
  bool center_unembed = false;
};

// Returns an equivalent model whose norms have gain 1 and shift 0: they are folded into the
// matrices that read them, as in TransformerLens (fold_ln, center_writing_weights, center_unembed).
// Rows of matrices that read a layer norm get mean 0, which changes no product with it.
// Norms of queries and keys, of outputs and of embeddings keep theirs. Logits differ by rounding
// only, except for center_unembed. Hooks and low-rank updates: the copy has the updates, but no
// hook. Throws Error about "fold" for models without norms before their layers and bidirectional
// ones; about "center_writing_weights" if a norm writes to the residual stream; and about
// "center_unembed".
std::unique_ptr<Gpt> folded(const Gpt& model, const FoldOptions& options = {});

}  // namespace headlight
