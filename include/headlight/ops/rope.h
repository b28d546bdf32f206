#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "headlight/kernels/layers/rotary.h"
#include "headlight/tensor/tensor.h"

// Rotary position embeddings: Su et al., "RoFormer", arXiv 2104.09864.
namespace headlight {

// Change of the frequencies for contexts longer than in pretraining.
enum class RopeScaling {
  none,
  linear,  // all frequencies divided by `factor` (Chen et al., arXiv 2306.15595)
  llama3,  // low frequencies divided by `factor`, high ones kept (Llama 3.1)
  yarn,    // as llama3, with a ramp over pairs (Peng et al., arXiv 2309.00071)
  // As none up to a model's block_size. Other programs change the frequencies of longer sequences.
  dynamic,
  longrope,  // each frequency divided by its own factor (Ding et al., arXiv 2402.13753)
};

template <>
inline constexpr auto kChoices<RopeScaling> =
    std::to_array<Choice<RopeScaling>>({{"none", RopeScaling::none},
                                        {"linear", RopeScaling::linear},
                                        {"llama3", RopeScaling::llama3},
                                        {"yarn", RopeScaling::yarn},
                                        {"dynamic", RopeScaling::dynamic},
                                        {"longrope", RopeScaling::longrope}});

// Named as Hugging Face's rope_parameters.
struct RopeOptions {
  double theta = 10000;  // base of the wavelengths
  Index width = 0;       // r: rotates only the first r elements; even; 0: all
  RotaryStyle style = RotaryStyle::half;
  bool reversed = false;  // rotates by negative angles
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;
  double low_freq_factor = 1;   // llama3 only
  double high_freq_factor = 4;  // llama3 only; above low_freq_factor
  // yarn only: pairs that rotate more than beta_fast times in the original context are kept, those
  // that rotate less than beta_slow times are scaled.
  double beta_fast = 32;
  double beta_slow = 1;
  bool truncate = true;                           // the ramp begins and ends at whole pairs
  Index original_max_position_embeddings = 8192;  // llama3, yarn and longrope
  double attention_factor = 1;                    // of cosines and sines; yarn and longrope
  // longrope only: divisors [r / 2] of the frequencies in sequences up to the original context, and
  // in longer ones.
  std::vector<double> short_factors = {};
  std::vector<double> long_factors = {};

  bool operator==(const RopeOptions&) const = default;
};

// Returns the usual factor of cosines and sines for yarn (Peng et al., equation 22): attention in a
// longer context needs higher scores. `strength`: mscale in the files of some models.
inline double yarn_attention_factor(double factor, double strength = 1) {
  return factor <= 1 ? 1 : 0.1 * strength * std::log(factor) + 1;
}

// Returns whether a sequence of `length` tokens has long_factors.
inline bool has_long_factors(const RopeOptions& options, Index length) {
  return options.scaling == RopeScaling::longrope &&
         length > options.original_max_position_embeddings;
}

// Returns the options for a sequence of `length` tokens, in which short_factors are the right ones.
RopeOptions at_length(const RopeOptions& options, Index length);

// Returns the angle [r / 2] of each pair between consecutive positions: theta^(-2 i / r), scaled. r
// is options.width, or head_width if that is 0. Computed in float32 in the order of transformers'
// modeling_rope_utils.py, because rounding matters at high positions. Powers are rounded to the
// nearest float; PyTorch's are sometimes off by one. For longrope uses short_factors. Throws Error
// for a width that is odd, not positive or above head_width, and for factors that are not positive.
std::vector<float> inverse_frequencies(const RopeOptions& options, Index head_width);

// Rotates each pair of elements of x [N, H, D]: (a, b) becomes (a cos - b sin, b cos + a sin). The
// angle is the position of the row, positions [N] int32, times the pair's inverse frequency. Angles
// are float32, as in transformers; cosines and sines have the same bits in every CPU variant.
// Copies elements after the first r, and all heads from `heads` on, such as values after queries
// and keys. Throws Error if shapes, types or options do not match.
Tensor rope(const Tensor& x, const Tensor& positions, const RopeOptions& options = {},
            std::optional<Index> heads = std::nullopt);

}  // namespace headlight
