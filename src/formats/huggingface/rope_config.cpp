#include "formats/huggingface/rope_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "headlight/base/error.h"
#include "headlight/nn/architecture.h"

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

// "su" is an old name of longrope.
RopeScaling read_scaling(const ConfigReader& parameters, bool has_longrope) {
  const std::string old_type = parameters.text("type", kUnscaled);
  const char* const key = parameters.find("rope_type") != nullptr ? "rope_type" : "type";
  const std::string type = parameters.text("rope_type", old_type);
  if (type == kUnscaled) {
    return RopeScaling::none;
  }
  constexpr std::array<std::string_view, 6> kTypes{kUnscaled, "linear",  "llama3",
                                                   "yarn",    "dynamic", "longrope"};
  const std::span<const std::string_view> types(kTypes.data(), has_longrope ? 6 : 5);
  if (type == "su" && has_longrope) {
    return RopeScaling::longrope;
  }
  if (std::ranges::count(types, type) == 0) {
    fail_choice(parameters.name(key), types, type);
  }
  return parse_name<RopeScaling>(key, type);
}

// Returns the factor of cosines and sines for yarn.
double read_yarn_strength(const ConfigReader& parameters, double factor) {
  const double strength = parameters.number("mscale", 0);
  const double divisor = parameters.number("mscale_all_dim", 0);
  const bool has_both = strength != 0 && divisor != 0;
  return parameters.number("attention_factor", has_both ? yarn_attention_factor(factor, strength) /
                                                              yarn_attention_factor(factor, divisor)
                                                        : yarn_attention_factor(factor));
}

// Returns the factor of cosines and sines for longrope.
double read_longrope_strength(const ConfigReader& parameters, const RopeOptions& rope) {
  const auto original = static_cast<double>(rope.original_max_position_embeddings);
  const double usual =
      rope.factor <= 1 ? 1 : std::sqrt(1 + std::log(rope.factor) / std::log(original));
  return parameters.number("attention_factor", usual);
}

Index turned_elements(double share, const std::string& key, Index head_width) {
  require_value(share > 0 && share <= 1, key, "expected a number above 0 and at most 1, got ",
                share);
  const auto turned = static_cast<Index>(share * static_cast<double>(head_width));
  return turned == head_width ? 0 : turned;
}

// Reads the parts of `rope` that the type of scaling has.
void read_scaled(const ConfigReader& parameters, const RopeKeys& keys, Index original,
                 RopeOptions& rope) {
  const RopeOptions usual;
  const bool has_ratio = rope.scaling == RopeScaling::longrope;
  require_value(has_ratio || parameters.find("factor") != nullptr, parameters.name("factor"),
                "is missing");
  if (rope.scaling == RopeScaling::llama3) {
    rope.low_freq_factor = parameters.number("low_freq_factor", usual.low_freq_factor);
    rope.high_freq_factor = parameters.number("high_freq_factor", usual.high_freq_factor);
  }
  if (rope.scaling == RopeScaling::yarn) {
    rope.beta_fast = parameters.number("beta_fast", usual.beta_fast);
    rope.beta_slow = parameters.number("beta_slow", usual.beta_slow);
    rope.truncate = parameters.boolean("truncate", true);
  }
  rope.original_max_position_embeddings =
      has_ratio ? original : parameters.size(kOriginal, original);
  rope.factor = parameters.number(
      "factor", static_cast<double>(keys.block_size) / static_cast<double>(original));
  if (rope.scaling == RopeScaling::longrope) {
    rope.short_factors = parameters.numbers("short_factor");
    rope.long_factors = parameters.numbers("long_factor");
    rope.attention_factor = read_longrope_strength(parameters, rope);
  }
  if (rope.scaling == RopeScaling::yarn) {
    rope.attention_factor = read_yarn_strength(parameters, rope.factor);
  }
  require_value(rope.attention_factor > 0, parameters.name("attention_factor"),
                "expected a number above 0, got ", rope.attention_factor);
}

// Reads one object of rope_parameters. `usual` has the values of missing keys; `original` is the
// usual length of the original context.
RopeOptions read_rope_parameters(const ConfigReader& parameters, const RopeOptions& usual,
                                 const RopeKeys& keys, Index original) {
  RopeOptions rope = usual;
  rope.theta = parameters.number("rope_theta", usual.theta);
  rope.scaling = read_scaling(parameters, keys.longrope_original > 0);
  if (rope.scaling != RopeScaling::none) {
    read_scaled(parameters, keys, original, rope);
  }
  return rope;
}

}  // namespace

void read_layer_ropes(const ConfigReader& reader, double usual_theta, double usual_local_theta,
                      GptConfig& config) {
  constexpr const char* kKey = "rope_parameters";
  const RopeKeys keys{.block_size = config.block_size, .usual_theta = usual_theta};
  const Json* parameters = reader.find(kKey);
  const bool is_nested = parameters != nullptr && parameters->is_object();
  const auto read = [&](const char* kind, const RopeOptions& usual) {
    const bool has_kind = is_nested && reader.inside(kKey).find(kind) != nullptr;
    return has_kind ? read_rope_parameters(reader.inside(kKey).inside(kind), usual, keys,
                                           config.block_size)
                    : usual;
  };
  config.rope =
      read("full_attention", read_rope(reader, block_plan(config, 0).attention.head_width, keys));
  const RopeOptions local = read("sliding_attention", {.theta = usual_local_theta});
  require_value(local.scaling == RopeScaling::none && config.rope.width == 0, kKey,
                "only whole heads, and windows without scaling, are supported");
  config.rope_local_theta = local.theta;
}

RopeOptions read_rope(const ConfigReader& reader, Index head_width, const RopeKeys& keys) {
  RopeOptions rope{.theta = reader.number(keys.theta, keys.usual_theta)};
  double share = reader.number(keys.share, keys.usual_share);
  if (const char* const key = parameters_key(reader); key != nullptr) {
    const ConfigReader parameters = reader.inside(key);
    share = parameters.number("partial_rotary_factor", share);
    const bool has_longrope = keys.longrope_original > 0;
    const Index original = has_longrope ? keys.longrope_original : keys.block_size;
    rope = read_rope_parameters(parameters, rope, keys, reader.size(kOriginal, original));
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
    json["attention_factor"] = rope.attention_factor;
  }
  if (rope.scaling == RopeScaling::longrope) {
    json["short_factor"] = rope.short_factors;
    json["long_factor"] = rope.long_factors;
    json[kOriginal] = rope.original_max_position_embeddings;
    json["attention_factor"] = rope.attention_factor;
  }
  return json;
}

Json layer_ropes_json(const GptConfig& config) {
  const Json rope = rope_parameters_json(config.rope, config.elements_of_head());
  const double theta = config.rope_local_theta;
  return {{"full_attention", rope},
          {"sliding_attention", theta > 0 ? rope_parameters_json({.theta = theta}, 0) : rope}};
}

}  // namespace headlight
