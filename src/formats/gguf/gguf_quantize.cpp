#include "formats/gguf/gguf_quantize.h"

#include <algorithm>
#include <cmath>

#include "headlight/base/error.h"
#include "headlight/base/index.h"
#include "kernels/cpu_variant.h"
#include "kernels/panels/step_search.h"
#include "tensor/float16.h"

namespace headlight {
namespace {

using kernels::IntegerBlock;
using kernels::SearchedParts;
using kernels::SignedTries;

#if defined(__x86_64__)
template <class Body>
__attribute__((target("avx2"), flatten)) auto with_wider_vectors(const Body& body) {
  return body();
}
#else
template <class Body>
auto with_wider_vectors(const Body& body) {
  return body();
}
#endif

// Returns body(), compiled for the vectors of this CPU. The file fuses no operations
// (-ffp-contract=off), so the bits are the same.
template <class Body>
auto vectorised(const Body& body) {
  const bool wide = kernels::cpu_variant() != kernels::CpuVariant::baseline;
  return wide ? with_wider_vectors(body) : body();
}

// Returns the nearest integer, ties to even, within a range of small numbers; `lowest` for NaN.
float rounded_within(float value, int lowest, int highest) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  const auto least = static_cast<float>(lowest);
  const auto most = static_cast<float>(highest);
  const float raised = value > least ? value : least;
  return ((raised < most ? raised : most) + kRound) - kRound;
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
// Computes all tries side by side, so that they become vectors: each keeps its order of sums.
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
    const Fit whole{range / static_cast<float>(highest_), -least};
    float inverses[kLanes] = {1 / whole.scale};
    for (int i = 0; i <= tries; ++i) {
      inverses[i + 1] =
          (first + 0.1F * static_cast<float>(i) + static_cast<float>(highest_)) / range;
    }
    set_numbers(inverses, least);
    fit_numbers();
    scales_[0] = whole.scale;
    leasts_[0] = whole.least;
    add_errors();
    int found = 0;
    for (int i = 1; i <= tries + 1; ++i) {
      found = scales_[i] != 0 && errors_[i] < errors_[found] ? i : found;
    }
    return {scales_[found], leasts_[found]};
  }

 private:
  static constexpr int kLanes = 24;  // the whole range, then at most 21 tries

  void set_numbers(const float* inverses, float least) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      for (int lane = 0; lane < kLanes; ++lane) {
        numbers_[i][lane] = rounded_within(inverses[lane] * (values_[i] - least), 0, highest_);
      }
    }
  }

  // Sets the least squares; a scale of 0 where the numbers are all equal.
  void fit_numbers() {
    float w = 0;
    float x = 0;
    float l[kLanes] = {};
    float ll[kLanes] = {};
    float xl[kLanes] = {};
    for (std::size_t i = 0; i < values_.size(); ++i) {
      w += weights_.of[i];
      x += weights_.of[i] * values_[i];
      for (int lane = 0; lane < kLanes; ++lane) {
        const float weighted = weights_.of[i] * numbers_[i][lane];
        l[lane] += weighted;
        ll[lane] += weighted * numbers_[i][lane];
        xl[lane] += weighted * values_[i];
      }
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const float determinant = w * ll[lane] - l[lane] * l[lane];
      const float least = (l[lane] * xl[lane] - ll[lane] * x) / determinant;
      const float scale = (w * xl[lane] - x * l[lane]) / determinant;
      scales_[lane] = determinant <= 0 ? 0 : least < 0 ? xl[lane] / ll[lane] : scale;
      leasts_[lane] = least < 0 ? 0 : least;
    }
  }

  void add_errors() {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const float difference = scales_[lane] * numbers_[i][lane] - leasts_[lane] - values_[i];
        errors_[lane] += weights_.of[i] * difference * difference;
      }
    }
  }

  std::span<const float> values_;
  int highest_;
  ErrorWeights weights_;
  float numbers_[32][kLanes];
  float scales_[kLanes];
  float leasts_[kLanes];
  float errors_[kLanes] = {};
};

// Steps whose furthest numbers are near -count; make_qx_quants.
SignedTries signed_tries(int count) {
  SignedTries tries{.count = count};
  for (int i = 0; i < kernels::kSignedTries; ++i) {
    tries.furthest[i] = static_cast<float>(count) + 0.1F * static_cast<float>(i - 9);
  }
  return tries;
}

// Returns 1 / value; 0 for values near 0, whose inverse could be infinite.
float inverse_of(float value) { return std::abs(value) > 1e-30F ? 1 / value : 0; }

}  // namespace

void quantize_signed(std::span<const float> values, std::span<const float> importance, int bits,
                     std::span<IntegerBlock> blocks) {
  const int count = 1 << (bits - 1);
  SearchedParts parts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    parts.values[i % 32][i / 32] = values[i];
    parts.weights[i % 32][i / 32] = importance.empty() ? 1.0F : importance[i];
  }
  float steps[kernels::kSearchedParts];
  kernels::step_search().signed_steps(parts, signed_tries(count), steps);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    IntegerBlock& block = blocks[b];
    block.step = checked_half(steps[b]);
    const float inverse = inverse_of(half_to_float(static_cast<std::uint16_t>(block.step)));
    for (std::size_t i = 0; i < 32; ++i) {
      block.numbers[i] = static_cast<std::uint8_t>(
          rounded_within(values[32 * b + i] * inverse, -count, count - 1) +
          static_cast<float>(count));
    }
  }
}

void quantize_above_least(std::span<const float> values, std::span<const float> importance,
                          int bits, IntegerBlock& block) {
  const int highest = (1 << bits) - 1;
  PartFit fit(values, growing_weights(values, importance), highest);
  const Fit found = vectorised([&] { return fit.best(-0.5F, 15); });
  block.step = checked_half(found.scale);
  block.least = checked_half(-found.least);
  const float inverse = inverse_of(half_to_float(static_cast<std::uint16_t>(block.step)));
  const float least = half_to_float(block.least);
  for (std::size_t i = 0; i < values.size(); ++i) {
    block.numbers[i] =
        static_cast<std::uint8_t>(rounded_within((values[i] - least) * inverse, 0, highest));
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
    fits[part] = vectorised([&] { return bits == 4 ? fit.best(-1.0F, 20) : fit.best(-0.5F, 15); });
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
    const float inverse = inverse_of(step);
    for (std::size_t i = 32 * part; i < 32 * (part + 1); ++i) {
      block.numbers[i] =
          static_cast<std::uint8_t>(rounded_within((values[i] + least) * inverse, 0, highest));
    }
  }
}

void quantize_signed_parts(std::span<const float> values, std::span<const float> importance,
                           IntegerBlock& block) {
  float scales[16];
  for (std::size_t first = 0; first < 16; first += kernels::kSearchedParts) {
    SearchedParts parts{.size = 16};
    for (std::size_t p = 0; p < kernels::kSearchedParts; ++p) {
      const std::span<const float> some = values.subspan(16 * (first + p), 16);
      // Squares of the values themselves may be infinite.
      const float inverse = inverse_of(furthest_from_zero(some));
      const ErrorWeights weights =
          error_weights(some, part_of(importance, 16 * (first + p), 16),
                        [inverse](float value) { return value * inverse * (value * inverse); });
      for (std::size_t i = 0; i < 16; ++i) {
        parts.values[i][p] = some[i];
        parts.weights[i][p] = weights.of[i];
      }
    }
    float steps[kernels::kSearchedParts];
    kernels::step_search().signed_steps(parts, signed_tries(32), steps);
    std::copy(std::begin(steps), std::end(steps), scales + first);
  }
  const float whole = furthest_from_zero(scales) / -128;
  block.step = checked_half(whole);
  for (std::size_t part = 0; part < 16; ++part) {
    block.steps[part] =
        static_cast<std::int8_t>(rounded_within(scales[part] * inverse_of(whole), -128, 127));
    const float step = half_to_float(static_cast<std::uint16_t>(block.step)) *
                       static_cast<float>(block.steps[part]);
    const float inverse = inverse_of(step);
    for (std::size_t i = 16 * part; i < 16 * (part + 1); ++i) {
      block.numbers[i] =
          static_cast<std::uint8_t>(rounded_within(values[i] * inverse, -32, 31) + 32);
    }
  }
}

}  // namespace headlight
