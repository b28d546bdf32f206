#pragma once

#include "headlight/kernels/precision.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

struct CrossEntropyOptions {
  Index ignore_index = -1;  // targets with this value are ignored
  // Divisor of the sum; 0: the number of targets that are not ignored. For a batch in pieces, pass
  // the count of the whole batch.
  Index normalizer = 0;
  // Soft cap of the logits: cap tanh(logit / cap); 0: none.
  double cap = 0;
  // Share of the target's probability that is spread evenly over all classes, from 0 to 1, as in
  // PyTorch.
  double label_smoothing = 0;
  // Weight of log(Z)^2, which is added to each loss; Z is the sum of the exponentials of the logits
  // (A. Chowdhery et al., "PaLM", JMLR 24, 2023, section 5).
  double z_loss = 0;
  // Precision of the products of linear_cross_entropy, forward and backward.
  Precision precision = Precision::float32;
};

// Mean of -log softmax(logits)[target]: logits [N, V], targets [N] int32; returns a scalar. If all
// targets are ignored, the loss and the gradients are 0. Throws Error for a target outside [0, V)
// that is not ignore_index.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

// cross_entropy(linear(x, weight), targets, options) in chunks of rows, so that the logits [N, V]
// never exist as a whole. x [N, C], weight [V, C].
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            const CrossEntropyOptions& options = {});

// Returns the loss of every row, -log softmax(x weight^T)[target], as [N] float64; 0 for ignored
// targets. The backward pass computes the logits again, in chunks.
Tensor linear_cross_entropy_rows(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                 const CrossEntropyOptions& options = {});

}  // namespace headlight
