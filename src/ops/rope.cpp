#include "headlight/ops/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/layers/rotary.h"
#include "ops/common.h"

namespace headlight {
namespace {

void check_options(const RopeOptions& options, Index width, Index head_width) {
  require(width > 0 && width % 2 == 0 && width <= head_width,
          "[rope] width: expected an even number from 2 to ", head_width, ", got ", width);
  require(options.theta > 0 && std::isfinite(options.theta),
          "[rope] theta: expected a positive number, got ", options.theta);
  if (options.scaling == RopeScaling::none) {
    return;
  }
  require(options.factor > 0 && std::isfinite(options.factor),
          "[rope] factor: expected a positive number, got ", options.factor);
  if (options.scaling == RopeScaling::llama3) {
    require(options.low_freq_factor > 0 && options.high_freq_factor > options.low_freq_factor &&
                std::isfinite(options.high_freq_factor),
            "[rope] low_freq_factor and high_freq_factor: expected increasing positive numbers, "
            "got ",
            options.low_freq_factor, " and ", options.high_freq_factor);
  }
  if (options.scaling == RopeScaling::longrope) {
    require(std::ssize(options.short_factors) == width / 2, "[rope] short_factors: expected ",
            width / 2, " numbers, got ", options.short_factors.size());
  }
  if (options.scaling == RopeScaling::llama3 || options.scaling == RopeScaling::yarn) {
    require(options.original_max_position_embeddings > 0,
            "[rope] original_max_position_embeddings: expected a positive number, got ",
            options.original_max_position_embeddings);
  }
}

// Llama 3.1's scaling. Wavelengths that fit at most low_freq_factor times into the original context
// are stretched by `factor`. Those that fit at least high_freq_factor times are kept. The
// frequencies between are interpolated linearly.
float llama3_frequency(float frequency, const RopeOptions& options) {
  const auto original = static_cast<float>(options.original_max_position_embeddings);
  const auto low = static_cast<float>(options.low_freq_factor);
  const auto range = static_cast<float>(options.high_freq_factor - options.low_freq_factor);
  const float wavelength = 1.0F / frequency * (2 * std::numbers::pi_v<float>);
  const auto longest = static_cast<double>(original) / options.low_freq_factor;
  const auto shortest = static_cast<double>(original) / options.high_freq_factor;
  const auto factor = static_cast<float>(options.factor);
  if (wavelength > static_cast<float>(longest)) {
    return frequency / factor;
  }
  if (wavelength < static_cast<float>(shortest)) {
    return frequency;
  }
  const float smooth = (1.0F / wavelength * original - low) / range;
  return (1.0F - smooth) * frequency / factor + smooth * frequency;
}

// Returns the pair, as a real number, that rotates this many times in the original context.
double pair_of_rotations(double rotations, const RopeOptions& options, Index width) {
  const auto original = static_cast<double>(options.original_max_position_embeddings);
  return static_cast<double>(width) * std::log(original / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(options.theta));
}

// The pairs where YaRN's ramp from kept to scaled frequencies begins and ends.
struct Ramp {
  double begin;
  double end;
};

Ramp yarn_ramp(const RopeOptions& options, Index width) {
  require(options.beta_slow > 0 && options.beta_fast >= options.beta_slow && options.theta != 1,
          "[rope] beta_slow and beta_fast: expected positive numbers, the second not smaller, and "
          "theta other than 1");
  double begin = pair_of_rotations(options.beta_fast, options, width);
  double end = pair_of_rotations(options.beta_slow, options, width);
  if (options.truncate) {
    begin = std::floor(begin);
    end = std::ceil(end);
  }
  begin = std::max(begin, 0.0);
  end = std::min(end, static_cast<double>(width - 1));
  return {begin, begin == end ? end + 0.001 : end};  // as in transformers: a ramp has a length
}

// `power` is theta^(2 i / r) of the pair.
float yarn_frequency(Index pair, float power, const Ramp& ramp, double factor) {
  const float position = static_cast<float>(pair) - static_cast<float>(ramp.begin);
  const float share = std::clamp(position / static_cast<float>(ramp.end - ramp.begin), 0.0F, 1.0F);
  const float kept = 1.0F - share;
  const float scaled = 1.0F / (static_cast<float>(factor) * power);
  return scaled * (1.0F - kept) + 1.0F / power * kept;
}

Index rotary_width(const RopeOptions& options, Index head_width) {
  return options.width == 0 ? head_width : options.width;
}

// Values that backward needs.
struct SavedRotation {
  SavedTensor positions;  // [N]
  std::vector<float> inverse_frequencies;
  RotaryStyle style;
  bool reversed;
  double factor;
  Index heads;  // number of rotated heads
};

Tensor rotated(const Tensor& x_given, const SavedRotation& saved, bool backward) {
  const Tensor x = to_contiguous(x_given);
  Tensor result = Tensor::empty(x.shape(), x.dtype());
  const std::int32_t* positions = saved.positions.get().data<std::int32_t>();
  const Index heads = x.size(1);
  const Index width = x.size(2);
  dispatch_floating(x.dtype(), "rope", [&](auto zero) {
    using T = decltype(zero);
    const T* from = x.data<T>();
    T* to = result.data<T>();
    kernels::parallel_for(
        x.size(0), kernels::row_grain(heads * width), [&](Index begin, Index end) {
          for (Index row = begin; row < end; ++row) {
            const Index start = row * heads * width;
            kernels::rotate_row(from + start, to + start, saved.heads, width,
                                {.inverse_frequencies = saved.inverse_frequencies,
                                 .position = positions[row],
                                 .style = saved.style,
                                 .backward = backward != saved.reversed,
                                 .factor = saved.factor});
            std::copy(from + start + saved.heads * width, from + start + heads * width,
                      to + start + saved.heads * width);
          }
        });
  });
  return result;
}

}  // namespace

RopeOptions at_length(const RopeOptions& options, Index length) {
  RopeOptions result = options;
  if (has_long_factors(options, length)) {
    result.short_factors = options.long_factors;
  }
  return result;
}

std::vector<float> inverse_frequencies(const RopeOptions& options, Index head_width) {
  const Index width = rotary_width(options, head_width);
  check_options(options, width, head_width);
  const bool is_yarn = options.scaling == RopeScaling::yarn;
  const Ramp ramp = is_yarn ? yarn_ramp(options, width) : Ramp{};
  std::vector<float> frequencies;
  for (Index i = 0; i < width; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(width);
    const double power = std::pow(static_cast<double>(static_cast<float>(options.theta)),
                                  static_cast<double>(exponent));
    const float frequency = 1.0F / static_cast<float>(power);
    const bool is_linear = options.scaling == RopeScaling::linear;
    if (is_yarn) {
      frequencies.push_back(yarn_frequency(i / 2, static_cast<float>(power), ramp, options.factor));
      continue;
    }
    if (options.scaling == RopeScaling::longrope) {
      const double factor = options.short_factors[static_cast<std::size_t>(i / 2)];
      frequencies.push_back(1.0F / (static_cast<float>(factor) * static_cast<float>(power)));
      continue;
    }
    frequencies.push_back(options.scaling == RopeScaling::llama3
                              ? llama3_frequency(frequency, options)
                              : frequency /
                                    (is_linear ? static_cast<float>(options.factor) : 1.0F));
  }
  return frequencies;
}

Tensor rope(const Tensor& x, const Tensor& positions, const RopeOptions& options,
            std::optional<Index> heads) {
  require(x.defined() && x.rank() == 3, "[rope] expected an input of three axes");
  require_type(positions, DType::int32, "rope", "positions");
  require_shape(positions, {x.size(0)}, "rope", "positions");
  const Index rotary_heads = heads.value_or(x.size(1));
  require(rotary_heads >= 0 && rotary_heads <= x.size(1), "[rope] heads: expected 0 to ", x.size(1),
          ", got ", rotary_heads);
  const SavedRotation saved{{"rope", "positions", to_contiguous(positions)},
                            inverse_frequencies(options, x.size(2)),
                            options.style,
                            options.reversed,
                            options.attention_factor,
                            rotary_heads};
  return record_shapes("rope", rotated(x.detach(), saved, false), {x},
                       [saved](auto, const Tensor& grad) {
                         return std::vector<Tensor>{rotated(grad, saved, true)};
                       });
}

}  // namespace headlight
