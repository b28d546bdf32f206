#pragma once

#include "headlight/kernels/precision.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

struct CrossEntropyOptions {
  Index ignore_index = -1;  // targets with this value count for nothing
  // What the sum is divided by; 0: the number of targets that count. A batch that is processed in
  // pieces passes the count of the whole.
  Index normalizer = 0;
  // Of the products of linear_cross_entropy, forward and backward.
  Precision precision = Precision::float32;
};

// Mean of -log softmax(logits)[target]: logits [N, V], targets [N] int32; gives a scalar.
// Without any target that counts the loss is 0 and so are the gradients.
// Throws Error for a target outside 0 ... V - 1 that is not ignore_index.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

// cross_entropy(linear(x, weight), targets) in chunks of rows, so that the logits [N, V] never
// exist as a whole. x [N, C], weight [V, C].
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            const CrossEntropyOptions& options = {});

// The loss of every row by itself, -log softmax(x weight^T)[target], [N] float64; 0 where the
// target does not count. Records no gradient.
Tensor linear_cross_entropy_rows(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                 const CrossEntropyOptions& options = {});

}  // namespace headlight
