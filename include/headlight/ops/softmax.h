#pragma once

#include "headlight/tensor/tensor.h"

namespace headlight {

Tensor softmax(const Tensor& x, Index axis = -1);
Tensor log_softmax(const Tensor& x, Index axis = -1);

// Softmax over the last axis among the elements that the mask (bool, broadcasts to x) does not
// hide. Hidden elements get exactly 0; fully hidden rows give zeros and zero gradients.
Tensor masked_softmax(const Tensor& x, const Tensor& mask);

}  // namespace headlight
