#pragma once

#include <optional>
#include <vector>

#include "headlight/kernels/rotary.h"
#include "headlight/tensor/tensor.h"

// Rotary position embeddings: Su et al., "RoFormer", arXiv 2104.09864.
namespace headlight {

// How the frequencies are changed for contexts longer than those of the first training.
enum class RopeScaling {
  none,
  linear,  // all divided by `factor`: Chen et al., arXiv 2306.15595
  llama3,  // low ones divided by `factor`, high ones kept: Llama 3.1
};

template <>
inline constexpr auto kChoices<RopeScaling> =
    std::to_array<Choice<RopeScaling>>({{"none", RopeScaling::none},
                                        {"linear", RopeScaling::linear},
                                        {"llama3", RopeScaling::llama3}});

// The names are those of Hugging Face's rope_parameters.
struct RopeOptions {
  double theta = 10000;  // the base of the wavelengths
  Index width = 0;       // r: only the first r elements are turned; even; 0: all of them
  RotaryStyle style = RotaryStyle::half;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;
  double low_freq_factor = 1;   // llama3 alone, as is what follows
  double high_freq_factor = 4;  // above low_freq_factor
  Index original_max_position_embeddings = 8192;

  bool operator==(const RopeOptions&) const = default;
};

// The angle that each pair turns by from one position to the next [r / 2]: theta^(-2 i / r),
// scaled; head_width is r where the options have no width. Computed in float32, in the order of
// transformers' modeling_rope_utils.py, whose rounding shows at high positions; powers are rounded
// to the nearest float, while PyTorch's are here and there one further. Throws Error for a width
// that is odd, not positive or above head_width, and for factors that are not positive.
std::vector<float> inverse_frequencies(const RopeOptions& options, Index head_width);

// Turns each pair of elements of x [N, H, D] by the position of its row, positions [N] int32, times
// the pair's inverse frequency: (a, b) to (a cos - b sin, b cos + a sin). The angles are float32,
// as in transformers; their cosines and sines have the same bits in every CPU variant. What lies
// behind the first r elements passes, as do heads from `heads` on: values, behind queries and keys.
// Throws Error when shapes, types or options do not fit.
Tensor rope(const Tensor& x, const Tensor& positions, const RopeOptions& options = {},
            std::optional<Index> heads = std::nullopt);

}  // namespace headlight
