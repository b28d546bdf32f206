#include "formats/huggingface/rope_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr const char* kUnscaled = "default";
constexpr const char* kOriginal = "original_max_position_embeddings";

// Returns the key of transformers 4 (rope_scaling, without theta) or 5; null if there is none.
const char* parameters_key(const ConfigReader& reader) {
  const bool has_new = reader.find("rope_parameters") != nullptr;
  return reader.find("rope_scaling") != nullptr ? "rope_scaling"
         : has_new                              ? "rope_parameters"
                                                : nullptr;
}

RopeScaling read_scaling(const ConfigReader& parameters, bool has_yarn) {
  const std::string old_type = parameters.text("type", kUnscaled);
  const char* const key = parameters.find("rope_type") != nullptr ? "rope_type" : "type";
  const std::string type = parameters.text("rope_type", old_type);
  if (type == kUnscaled) {
    return RopeScaling::none;
  }
  constexpr std::array<std::string_view, 4> kTypes{kUnscaled, "linear", "llama3", "yarn"};
  const std::span<const std::string_view> types(kTypes.data(), has_yarn ? 4 : 3);
  if (std::ranges::count(types, type) == 0) {
    fail_choice(parameters.name(key), types, type);
  }
  return parse_name<RopeScaling>(key, type);
}

Index turned_elements(double share, const std::string& key, Index head_width) {
  require_value(share > 0 && share <= 1, key, "expected a number above 0 and at most 1, got ",
                share);
  const auto turned = static_cast<Index>(share * static_cast<double>(head_width));
  return turned == head_width ? 0 : turned;
}

}  // namespace

RopeOptions read_rope_parameters(const ConfigReader& parameters, const RopeOptions& usual,
                                 Index block_size, bool has_yarn) {
  RopeOptions rope = usual;
  rope.theta = parameters.number("rope_theta", usual.theta);
  rope.scaling = read_scaling(parameters, has_yarn);
  if (rope.scaling != RopeScaling::none) {
    require_value(parameters.find("factor") != nullptr, parameters.name("factor"), "is missing");
    rope.factor = parameters.number("factor", 1);
  }
  if (rope.scaling == RopeScaling::llama3) {
    rope.low_freq_factor = parameters.number("low_freq_factor", usual.low_freq_factor);
    rope.high_freq_factor = parameters.number("high_freq_factor", usual.high_freq_factor);
    rope.original_max_position_embeddings = parameters.size(kOriginal, block_size);
  }
  if (rope.scaling == RopeScaling::yarn) {
    rope.beta_fast = parameters.number("beta_fast", usual.beta_fast);
    rope.beta_slow = parameters.number("beta_slow", usual.beta_slow);
    rope.truncate = parameters.boolean("truncate", true);
    rope.original_max_position_embeddings = parameters.size(kOriginal, block_size);
  }
  return rope;
}

double read_attention_factor(const ConfigReader& reader, const RopeOptions& rope) {
  if (rope.scaling != RopeScaling::yarn) {
    return 1;
  }
  const ConfigReader parameters = reader.inside(parameters_key(reader));
  const auto grown = [&](double strength) {
    return rope.factor <= 1 ? 1 : 0.1 * strength * std::log(rope.factor) + 1;
  };
  const double strength = parameters.number("mscale", 0);
  const double divisor = parameters.number("mscale_all_dim", 0);
  const bool has_both = strength != 0 && divisor != 0;
  const double factor =
      parameters.number("attention_factor", has_both ? grown(strength) / grown(divisor) : grown(1));
  require_value(factor > 0, parameters.name("attention_factor"), "expected a number above 0, got ",
                factor);
  return factor;
}

RopeOptions read_rope(const ConfigReader& reader, Index head_width, const RopeKeys& keys) {
  RopeOptions rope{.theta = reader.number(keys.theta, keys.usual_theta)};
  double share = reader.number(keys.share, keys.usual_share);
  if (const char* const key = parameters_key(reader); key != nullptr) {
    const ConfigReader parameters = reader.inside(key);
    share = parameters.number("partial_rotary_factor", share);
    rope = read_rope_parameters(parameters, rope, reader.size(kOriginal, keys.block_size),
                                keys.has_yarn);
  }
  rope.width = turned_elements(share, reader.asked().key_of("rotary_pct"), head_width);
  return rope;
}

Json rope_parameters_json(const RopeOptions& rope, Index head_width) {
  const bool is_scaled = rope.scaling != RopeScaling::none;
  Json json{{"rope_type", is_scaled ? std::string(name_of(rope.scaling)) : kUnscaled},
            {"rope_theta", rope.theta}};
  if (rope.width > 0) {
    json["partial_rotary_factor"] =
        static_cast<double>(rope.width) / static_cast<double>(head_width);
  }
  if (is_scaled) {
    json["factor"] = rope.factor;
  }
  if (rope.scaling == RopeScaling::llama3) {
    json["low_freq_factor"] = rope.low_freq_factor;
    json["high_freq_factor"] = rope.high_freq_factor;
    json[kOriginal] = rope.original_max_position_embeddings;
  }
  if (rope.scaling == RopeScaling::yarn) {
    json["beta_fast"] = rope.beta_fast;
    json["beta_slow"] = rope.beta_slow;
    json["truncate"] = rope.truncate;
    json[kOriginal] = rope.original_max_position_embeddings;
  }
  return json;
}

}  // namespace headlight
