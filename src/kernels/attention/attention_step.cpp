#include "kernels/attention/attention_step.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::kernels {

void round_to_int8(const float* values, Index width, std::int8_t* numbers, float* scale) {
  constexpr float kHighest = 127;
  float largest = 0;
  bool is_finite = true;
  for (Index d = 0; d < width; ++d) {
    largest = std::max(largest, std::abs(values[d]));
    is_finite = is_finite && std::isfinite(values[d]);
  }
  *scale = is_finite ? largest / kHighest : std::numeric_limits<float>::quiet_NaN();
  const bool has_steps = *scale > 0;
  for (Index d = 0; d < width; ++d) {
    const float steps = has_steps ? std::clamp(values[d] / *scale, -kHighest, kHighest) : 0;
    numbers[d] = static_cast<std::int8_t>(std::lrint(steps));
  }
}

}  // namespace headlight::kernels
