#include "formats/gguf/gguf_rope.h"

#include <algorithm>
#include <cmath>

#include "headlight/base/error.h"

namespace headlight {
namespace {

// Compares factors with a tolerance, because programs round their frequencies differently.
bool are_close(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return std::abs(x - y) <= 1e-5F * std::abs(y); });
}

// Finds the parameters of Llama 3's scaling for these factors by trial. Files of other programs
// hold only the factors.
RopeOptions with_factors(GgufKeys& keys, RopeOptions rope, const std::vector<float>& factors,
                         Index head_width) {
  const float largest = *std::max_element(factors.begin(), factors.end());
  rope.low_freq_factor = keys.read_number(kGgufLowFrequency, rope.low_freq_factor);
  rope.high_freq_factor = keys.read_number(kGgufHighFrequency, rope.high_freq_factor);
  require_value(rope.low_freq_factor > 0 && rope.high_freq_factor > rope.low_freq_factor &&
                    rope.high_freq_factor <= 1e12,
                keys.whole(kGgufLowFrequency),
                "expected a number above 0 and below high_freq_factor, got ", rope.low_freq_factor,
                " and ", rope.high_freq_factor);
  if (keys.find(kGgufLowFrequency) != nullptr) {
    keys.size(kGgufOriginalContext, rope.original_max_position_embeddings);
  }
  for (const double factor : {static_cast<double>(largest), 8.0, 32.0}) {
    RopeOptions scaled = rope;
    scaled.scaling = RopeScaling::llama3;
    scaled.factor = factor;
    if (factor >= 1 && factor < 1e6 && are_close(factors, llama3_factors(scaled, head_width))) {
      return scaled;
    }
  }
  fail_value(kGgufRopeFactors, "expected the factors of Llama 3: 8 or 32, ", rope.low_freq_factor,
             ", ", rope.high_freq_factor, " and ", rope.original_max_position_embeddings);
}

RopeOptions read_rope(GgufKeys& keys, Index head_width) {
  RopeOptions rope{.theta = keys.read_number("rope.freq_base", 10000)};
  require_value(rope.theta > 0 && rope.theta <= 1e12, keys.whole("rope.freq_base"),
                "expected a number above 0 and at most 1e12, got ", rope.theta);
  const Index rotary_width = keys.read_integer("rope.dimension_count", head_width);
  const bool is_part = rotary_width >= 2 && rotary_width < head_width && rotary_width % 2 == 0;
  require_value(is_part || rotary_width == head_width, keys.whole("rope.dimension_count"),
                "expected an even number from 2 to ", head_width, ", the width of a head, got ",
                rotary_width);
  rope.width = is_part ? rotary_width : 0;
  const std::string type = keys.read_text("rope.scaling.type", "linear");
  if (type != "linear" && type != "none") {
    constexpr std::array<std::string_view, 2> kTypes{"none", "linear"};
    fail_choice(keys.whole("rope.scaling.type"), kTypes, type);
  }
  const double old_factor = keys.read_number("rope.scale_linear", 0);
  const double factor = keys.read_number("rope.scaling.factor", old_factor);
  if (type == "linear" && factor != 0 && factor != 1) {
    rope.scaling = RopeScaling::linear;
    rope.factor = factor;
  }
  const double strength = keys.read_number("rope.scaling.attn_factor", 1);
  require_value(strength == 1, keys.whole("rope.scaling.attn_factor"), "expected 1, got ",
                strength);
  return rope;
}

// Reads the factors of a tensor, if there is one.
RopeOptions read_factors(GgufKeys& keys, const RopeOptions& rope, Index head_width) {
  std::vector<float> factors;
  keys.factors(factors, head_width);
  require_value(factors.empty() || (rope.scaling == RopeScaling::none && rope.width == 0),
                kGgufRopeFactors, "factors together with another scaling are not supported");
  const bool idle = std::all_of(factors.begin(), factors.end(), [](float x) { return x == 1; });
  return idle ? rope : with_factors(keys, rope, factors, head_width);
}

void write_rope(GgufKeys& keys, const RopeOptions& rope) {
  keys.write_size("rope.dimension_count", rope.width);
  keys.write("rope.freq_base", static_cast<float>(rope.theta));
  if (rope.scaling == RopeScaling::linear) {
    keys.write("rope.scaling.type", std::string("linear"));
    keys.write("rope.scaling.factor", static_cast<float>(rope.factor));
  }
}

void write_factors(GgufKeys& keys, const RopeOptions& rope, Index head_width) {
  // llama.cpp only needs the tensor of factors.
  const RopeOptions defaults;
  const bool has_default_bounds =
      rope.low_freq_factor == defaults.low_freq_factor &&
      rope.high_freq_factor == defaults.high_freq_factor &&
      rope.original_max_position_embeddings == defaults.original_max_position_embeddings;
  if (!has_default_bounds) {
    keys.write(kGgufLowFrequency, static_cast<float>(rope.low_freq_factor));
    keys.write(kGgufHighFrequency, static_cast<float>(rope.high_freq_factor));
    keys.write_size(kGgufOriginalContext, rope.original_max_position_embeddings);
  }
  std::vector<float> factors = llama3_factors(rope, head_width);
  keys.factors(factors, head_width);
}

}  // namespace

void gguf_rope(GgufKeys& keys, GptConfig& config) {
  if (keys.writes()) {
    write_rope(keys, config.rope);
  } else {
    config.rope = read_rope(keys, config.head_width);
  }
}

void gguf_rope_factors(GgufKeys& keys, GptConfig& config) {
  if (!keys.writes()) {
    config.rope = read_factors(keys, config.rope, config.head_width);
  } else if (config.rope.scaling == RopeScaling::llama3) {
    write_factors(keys, config.rope, config.head_width);
  }
}

std::vector<float> llama3_factors(const RopeOptions& rope, Index head_width) {
  RopeOptions plain = rope;
  plain.scaling = RopeScaling::none;
  const std::vector<float> from = inverse_frequencies(plain, head_width);
  const std::vector<float> to = inverse_frequencies(rope, head_width);
  std::vector<float> factors;
  for (std::size_t i = 0; i < from.size(); ++i) {
    factors.push_back(from[i] / to[i]);
  }
  return factors;
}

}  // namespace headlight
