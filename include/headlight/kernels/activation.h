#pragma once

#include "headlight/base/choices.h"

namespace headlight {

// Activation function between the matrices of an MLP.
enum class Activation {
  gelu_tanh,  // 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): Hendrycks and Gimpel, 1606.08415
  gelu_erf,   // 0.5 x (1 + erf(x / sqrt(2))): exact
  relu,       // max(x, 0)
  relu2,      // max(x, 0)^2: So et al., arXiv 2109.08668
  silu,       // x sigmoid(x): Elfwing et al., arXiv 1702.03118
};

// Names as in Hugging Face's configurations.
template <>
inline constexpr auto kChoices<Activation> =
    std::to_array<Choice<Activation>>({{"gelu_new", Activation::gelu_tanh},
                                       {"gelu", Activation::gelu_erf},
                                       {"relu", Activation::relu},
                                       {"relu2", Activation::relu2},
                                       {"silu", Activation::silu}});

}  // namespace headlight
