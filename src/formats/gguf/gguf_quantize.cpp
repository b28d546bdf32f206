#include "formats/gguf/gguf_quantize.h"

#include <algorithm>
#include <cmath>

#include "headlight/base/error.h"
#include "headlight/base/index.h"
#include "tensor/float16.h"

namespace headlight {
namespace {

using kernels::IntegerBlock;

// Returns the nearest integer, ties to even, within a range.
int rounded_within(float value, int lowest, int highest) {
  return std::clamp(static_cast<int>(std::lrint(value)), lowest, highest);
}

float furthest_from_zero(std::span<const float> values) {
  return *std::max_element(values.begin(), values.end(),
                           [](float a, float b) { return std::abs(a) < std::abs(b); });
}

std::uint16_t checked_half(float value) {
  const std::uint16_t half = float_to_half(value);
  require(std::isfinite(half_to_float(half)), "contains values too large for float16 scales");
  return half;
}

// A scale and a least value of a part: x = scale * number - least.
struct Fit {
  float scale = 0;
  float least = 0;
};

// Weighted sums for the least squares of numbers against values.
struct Sums {
  float w = 0;
  float x = 0;
  float l = 0;
  float ll = 0;
  float xl = 0;
};

// Weights of the squared errors of a part's values.
struct ErrorWeights {
  float of[32];
};

// Returns the importance of `count` values from `first` on.
std::span<const float> part_of(std::span<const float> importance, std::size_t first,
                               std::size_t count) {
  return importance.empty() ? importance : importance.subspan(first, count);
}

// Returns the importance; without one weight_of(value) for each value.
template <class WeightOf>
ErrorWeights error_weights(std::span<const float> values, std::span<const float> importance,
                           const WeightOf& weight_of) {
  ErrorWeights weights{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    weights.of[i] = importance.empty() ? weight_of(values[i]) : importance[i];
  }
  return weights;
}

// Returns weights that grow with the values, from their root mean square on.
ErrorWeights growing_weights(std::span<const float> values, std::span<const float> importance) {
  double squares = 0;
  for (const float value : values) {
    squares += double{value} * double{value};
  }
  const auto mean = static_cast<float>(std::sqrt(squares / static_cast<double>(values.size())));
  return error_weights(values, importance, [mean](float value) { return mean + std::abs(value); });
}

// Finds a scale and a least value of at least 0 for numbers up to `highest`; make_qkx2_quants.
class PartFit {
 public:
  PartFit(std::span<const float> values, const ErrorWeights& weights, int highest)
      : values_(values), highest_(highest), weights_(weights) {}

  Fit best(float first, int tries) {
    const auto [low, high] = std::minmax_element(values_.begin(), values_.end());
    const float least = std::min(0.0F, *low);
    const float range = *high - least;
    if (range == 0) {
      return {0, -least};
    }
    Fit found{range / static_cast<float>(highest_), -least};
    set_numbers(1 / found.scale, least);
    float smallest = error_of(found);
    for (int i = 0; i <= tries; ++i) {
      set_numbers((first + 0.1F * static_cast<float>(i) + static_cast<float>(highest_)) / range,
                  least);
      const Fit fit = fit_of_numbers();
      const float error = fit.scale != 0 ? error_of(fit) : smallest;
      if (error < smallest) {
        smallest = error;
        found = fit;
      }
    }
    return found;
  }

 private:
  void set_numbers(float inverse, float least) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      numbers_[i] = static_cast<float>(rounded_within(inverse * (values_[i] - least), 0, highest_));
    }
  }

  float error_of(const Fit& fit) const {
    float sum = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const float difference = fit.scale * numbers_[i] - fit.least - values_[i];
      sum += weights_.of[i] * difference * difference;
    }
    return sum;
  }

  // Returns the least squares; a scale of 0 if the numbers are all equal.
  Fit fit_of_numbers() const {
    Sums sums;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      sums.w += weights_.of[i];
      sums.x += weights_.of[i] * values_[i];
      sums.l += weights_.of[i] * numbers_[i];
      sums.ll += weights_.of[i] * numbers_[i] * numbers_[i];
      sums.xl += weights_.of[i] * numbers_[i] * values_[i];
    }
    const float determinant = sums.w * sums.ll - sums.l * sums.l;
    if (determinant <= 0) {
      return {};
    }
    const float least = (sums.l * sums.xl - sums.ll * sums.x) / determinant;
    return least < 0 ? Fit{sums.xl / sums.ll, 0}
                     : Fit{(sums.w * sums.xl - sums.x * sums.l) / determinant, least};
  }

  std::span<const float> values_;
  int highest_;
  ErrorWeights weights_;
  float numbers_[32] = {};
};

// Returns the scale of numbers from -count to count - 1 for a part; make_qx_quants.
float signed_scale(std::span<const float> values, const ErrorWeights& weights, int count) {
  const float furthest = furthest_from_zero(values);
  if (std::abs(furthest) < 1e-15F) {
    return 0;
  }
  double found = 0;
  double best = 0;
  for (int i = -9; i <= 9; ++i) {
    const float inverse = -(static_cast<float>(count) + 0.1F * static_cast<float>(i)) / furthest;
    double xl = 0;
    double ll = 0;
    for (std::size_t at = 0; at < values.size(); ++at) {
      const double weight = weights.of[at];
      const double number = rounded_within(inverse * values[at], -count, count - 1);
      xl += weight * values[at] * number;
      ll += weight * number * number;
    }
    if (ll > 0 && xl * xl > best * ll) {
      found = xl / ll;
      best = found * xl;
    }
  }
  return static_cast<float>(found);
}

// Returns 1 / value; 0 for values near 0, whose inverse could be infinite.
float inverse_of(float value) { return std::abs(value) > 1e-30F ? 1 / value : 0; }

}  // namespace

void quantize_signed(std::span<const float> values, std::span<const float> importance, int bits,
                     IntegerBlock& block) {
  const int count = 1 << (bits - 1);
  const ErrorWeights weights = error_weights(values, importance, [](float) { return 1.0F; });
  block.step = checked_half(signed_scale(values, weights, count));
  const float inverse = inverse_of(half_to_float(static_cast<std::uint16_t>(block.step)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    block.numbers[i] =
        static_cast<std::uint8_t>(rounded_within(values[i] * inverse, -count, count - 1) + count);
  }
}

void quantize_above_least(std::span<const float> values, std::span<const float> importance,
                          int bits, IntegerBlock& block) {
  const int highest = (1 << bits) - 1;
  PartFit fit(values, growing_weights(values, importance), highest);
  const Fit found = fit.best(-0.5F, 15);
  block.step = checked_half(found.scale);
  block.least = checked_half(-found.least);
  const float inverse = inverse_of(half_to_float(static_cast<std::uint16_t>(block.step)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    block.numbers[i] = static_cast<std::uint8_t>(
        rounded_within((values[i] - half_to_float(block.least)) * inverse, 0, highest));
  }
}

void quantize_parts(std::span<const float> values, std::span<const float> importance, int bits,
                    IntegerBlock& block) {
  constexpr int kLargestFactor = 63;
  const int highest = (1 << bits) - 1;
  Fit fits[8];
  Fit largest;
  for (std::size_t part = 0; part < 8; ++part) {
    const std::span<const float> some = values.subspan(32 * part, 32);
    PartFit fit(some, growing_weights(some, part_of(importance, 32 * part, 32)), highest);
    fits[part] = bits == 4 ? fit.best(-1.0F, 20) : fit.best(-0.5F, 15);
    largest.scale = std::max(largest.scale, fits[part].scale);
    largest.least = std::max(largest.least, fits[part].least);
  }
  block.step = checked_half(largest.scale / kLargestFactor);
  block.least = checked_half(largest.least / kLargestFactor);
  for (std::size_t part = 0; part < 8; ++part) {
    const auto factor = [](float value, float most) {
      return rounded_within(kLargestFactor * inverse_of(most) * value, 0, kLargestFactor);
    };
    block.steps[part] = static_cast<std::int8_t>(factor(fits[part].scale, largest.scale));
    block.leasts[part] = static_cast<std::int8_t>(factor(fits[part].least, largest.least));
    const float step = half_to_float(static_cast<std::uint16_t>(block.step)) *
                       static_cast<float>(block.steps[part]);
    const float least = half_to_float(block.least) * static_cast<float>(block.leasts[part]);
    for (std::size_t i = 32 * part; i < 32 * (part + 1); ++i) {
      block.numbers[i] = static_cast<std::uint8_t>(
          rounded_within((values[i] + least) * inverse_of(step), 0, highest));
    }
  }
}

void quantize_signed_parts(std::span<const float> values, std::span<const float> importance,
                           IntegerBlock& block) {
  float scales[16];
  for (std::size_t part = 0; part < 16; ++part) {
    const std::span<const float> some = values.subspan(16 * part, 16);
    // Squares of the values themselves may be infinite.
    const float inverse = inverse_of(furthest_from_zero(some));
    const ErrorWeights weights =
        error_weights(some, part_of(importance, 16 * part, 16),
                      [inverse](float value) { return value * inverse * (value * inverse); });
    scales[part] = signed_scale(some, weights, 32);
  }
  const float whole = furthest_from_zero(scales) / -128;
  block.step = checked_half(whole);
  for (std::size_t part = 0; part < 16; ++part) {
    block.steps[part] =
        static_cast<std::int8_t>(rounded_within(scales[part] * inverse_of(whole), -128, 127));
    const float step = half_to_float(static_cast<std::uint16_t>(block.step)) *
                       static_cast<float>(block.steps[part]);
    for (std::size_t i = 16 * part; i < 16 * (part + 1); ++i) {
      block.numbers[i] =
          static_cast<std::uint8_t>(rounded_within(values[i] * inverse_of(step), -32, 31) + 32);
    }
  }
}

}  // namespace headlight
