#include "formats/huggingface/rope_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "formats/token_settings.h"
#include "headlight/base/error.h"
#include "headlight/nn/architecture.h"

namespace headlight {
namespace {

constexpr const char* kUnscaled = "default";
constexpr const char* kOriginal = "original_max_position_embeddings";
constexpr const char* kOldRope = "rope_scaling";
constexpr const char* kNewRope = "rope_parameters";
constexpr const char* kShare = "partial_rotary_factor";

bool has_object(const ConfigReader& reader, const char* key) {
  const Json* value = reader.find(key);
  return value != nullptr && has_value(*value);
}

// Returns the key whose object transformers 5 takes: rope_scaling (transformers 4, without theta),
// unless it is empty, else rope_parameters; null if both are empty.
const char* parameters_key(const ConfigReader& reader) {
  const bool has_new = has_object(reader, kNewRope);
  return has_object(reader, kOldRope) ? kOldRope : has_new ? kNewRope : nullptr;
}

// "su" is an old name of longrope.
RopeScaling read_scaling(const ConfigReader& parameters, bool has_longrope) {
  const bool is_new = parameters.find("rope_type") != nullptr || parameters.is_null("rope_type");
  const char* const key = is_new ? "rope_type" : "type";
  const std::string type = parameters.text(key, kUnscaled);
  if (type == kUnscaled) {
    return RopeScaling::none;
  }
  constexpr std::array<std::string_view, 6> kScalingTypes{kUnscaled, "linear",  "llama3",
                                                          "yarn",    "dynamic", "longrope"};
  const std::span<const std::string_view> types(kScalingTypes.data(), has_longrope ? 6 : 5);
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
  const double strength = parameters.or_null().number("mscale", 0);
  const double divisor = parameters.or_null().number("mscale_all_dim", 0);
  const bool has_both = strength != 0 && divisor != 0;
  return parameters.or_null().number(
      "attention_factor",
      has_both ? yarn_attention_factor(factor, strength) / yarn_attention_factor(factor, divisor)
               : yarn_attention_factor(factor));
}

// Returns the usual factor of cosines and sines for longrope.
double longrope_attention_factor(double factor, Index original) {
  return factor <= 1 ? 1
                     : std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(original)));
}

Index rotary_elements(double share, const std::string& key, Index head_width) {
  require_value(share > 0 && share <= 1, key, "expected a number above 0 and at most 1, got ",
                share);
  const auto rotary_width = static_cast<Index>(share * static_cast<double>(head_width));
  return rotary_width == head_width ? 0 : rotary_width;
}

// Length of the context before a scaling.
struct OriginalLength {
  Index default_length = 0;
  bool is_fixed = false;  // by a key outside of the parameters, which may not contradict it
};

OriginalLength read_original(const ConfigReader& reader, const RopeKeys& keys, Index block_size) {
  const bool has_longrope = keys.longrope_original > 0;
  const bool is_fixed = reader.find(kOriginal) != nullptr || has_longrope;
  return {has_longrope ? reader.size(kOriginal, keys.longrope_original)
                       : reader.or_null().size(kOriginal, block_size),
          is_fixed};
}

// Reads the parts of `rope` that the type of scaling has.
void read_scaled(const ConfigReader& parameters, Index block_size, const OriginalLength& original,
                 RopeOptions& rope) {
  const RopeOptions defaults;
  // Both lengths have a ratio, the factor of longrope without a factor and of yarn with null.
  const bool is_null = parameters.is_null("factor");
  const bool has_ratio =
      rope.scaling == RopeScaling::longrope || (rope.scaling == RopeScaling::yarn && is_null);
  require_value(has_ratio || is_null || parameters.find("factor") != nullptr,
                parameters.name("factor"), "is missing");
  if (rope.scaling == RopeScaling::llama3) {
    rope.low_freq_factor = parameters.number("low_freq_factor", defaults.low_freq_factor);
    rope.high_freq_factor = parameters.number("high_freq_factor", defaults.high_freq_factor);
  }
  if (rope.scaling == RopeScaling::yarn) {
    rope.beta_fast = parameters.or_null().number("beta_fast", defaults.beta_fast);
    rope.beta_slow = parameters.or_null().number("beta_slow", defaults.beta_slow);
    rope.truncate = parameters.boolean("truncate", true);
  }
  const Index length = parameters.size(kOriginal, original.default_length);
  require_value(!original.is_fixed || length == original.default_length, parameters.name(kOriginal),
                "expected ", original.default_length, ", as outside of the object, got ", length);
  rope.original_max_position_embeddings = length;
  const double ratio = static_cast<double>(block_size) / static_cast<double>(length);
  rope.factor = (has_ratio ? parameters.or_null() : parameters).number("factor", ratio);
  if (rope.scaling == RopeScaling::longrope) {
    rope.short_factors = parameters.numbers("short_factor");
    rope.long_factors = parameters.numbers("long_factor");
    rope.attention_factor = parameters.or_null().number(
        "attention_factor", longrope_attention_factor(rope.factor, length));
  }
  if (rope.scaling == RopeScaling::yarn) {
    rope.attention_factor = read_yarn_strength(parameters, rope.factor);
  }
  require_value(rope.attention_factor > 0, parameters.name("attention_factor"),
                "expected a number above 0, got ", rope.attention_factor);
}

// Reads one object of parameters. `defaults` has the values of missing keys.
RopeOptions read_rope_parameters(const ConfigReader& parameters, const RopeOptions& defaults,
                                 bool has_longrope, Index block_size,
                                 const OriginalLength& original) {
  RopeOptions rope = defaults;
  rope.theta = parameters.number("rope_theta", defaults.theta);
  rope.scaling = read_scaling(parameters, has_longrope);
  if (rope.scaling != RopeScaling::none) {
    read_scaled(parameters, block_size, original, rope);
  }
  return rope;
}

// Reads the rotation of a type of layers, which must be one of whole heads.
RopeOptions read_type_rope(const ConfigReader& parameters, const RopeOptions& defaults,
                           Index block_size) {
  require_value(parameters.number(kShare, 1) == 1, parameters.name(kShare), "only 1 is supported");
  return read_rope_parameters(parameters, defaults, false, block_size,
                              {.default_length = block_size});
}

// Reads the rotation of the layers without a window. transformers 5 takes `truncate` from the
// object around the types of layers, and merges rope_scaling into the parameters.
RopeOptions read_whole_rope(const ConfigReader& reader, double default_theta, Index block_size) {
  RopeOptions rope{.theta = reader.or_null().number("rope_theta", default_theta)};
  bool truncate = true;
  if (has_object(reader, kNewRope)) {
    const ConfigReader types = reader.inside(kNewRope);
    const bool has_sliding = types.find(kSlidingAttention) != nullptr;
    const bool has_whole = types.find(kFullAttention) != nullptr;
    require_value(has_sliding || has_whole, kNewRope, "expected ", kFullAttention, " and ",
                  kSlidingAttention);
    truncate = types.boolean("truncate", true);
    rope = has_whole ? read_type_rope(types.inside(kFullAttention), rope, block_size) : rope;
  }
  if (has_object(reader, kOldRope)) {
    const ConfigReader parameters = reader.inside(kOldRope);
    require_value(parameters.find("rope_type") != nullptr, parameters.name("rope_type"),
                  "is missing");
    rope = read_type_rope(parameters, rope, block_size);
  }
  require_value(rope.scaling != RopeScaling::yarn || rope.truncate == truncate, kNewRope,
                "expected truncate = ", rope.truncate, " beside ", kFullAttention, ", as inside");
  return rope;
}

void read_layer_ropes(const ConfigReader& reader, double default_theta, double default_local_theta,
                      GptConfig& config) {
  config.rope = read_whole_rope(reader, default_theta, config.block_size);
  RopeOptions local{.theta = default_local_theta};
  if (has_object(reader, kNewRope) && reader.inside(kNewRope).find(kSlidingAttention) != nullptr) {
    local =
        read_type_rope(reader.inside(kNewRope).inside(kSlidingAttention), local, config.block_size);
  }
  require_value(reader.or_null().number(kShare, 1) == 1, kShare, "only 1 is supported");
  require_value(local.scaling == RopeScaling::none, kNewRope, "expected no scaling in ",
                kSlidingAttention);
  config.rope_local_theta = local.theta;
}

RopeOptions read_rope(const ConfigReader& reader, const RopeKeys& keys, const GptConfig& config) {
  RopeOptions rope{.theta = reader.number(keys.theta, keys.default_theta)};
  const double default_share = keys.default_share.value_or(1);
  const bool is_whole = default_share == 1;
  double share = (is_whole ? reader.or_null() : reader).number(keys.share, default_share);
  const OriginalLength original = read_original(reader, keys, config.block_size);
  if (const char* const key = parameters_key(reader); key != nullptr) {
    const ConfigReader parameters = reader.inside(key);
    for (const char* type : {kFullAttention, kSlidingAttention}) {
      require_value(parameters.find(type) == nullptr, parameters.name(type),
                    "expected one rotation for all types of layers");
    }
    rope = read_rope_parameters(parameters, rope, keys.longrope_original > 0, config.block_size,
                                original);
    const bool may_be_null = is_whole && rope.scaling == RopeScaling::none;
    share = (may_be_null ? parameters.or_null() : parameters).number(kShare, share);
  }
  const std::string share_key = reader.read_keys().key_of("rotary_pct");
  rope.width = rotary_elements(share, share_key, config.elements_of_head());
  require_value(rope.width == 0 || keys.default_share, share_key, "only 1 is supported");
  return rope;
}

// Returns the keys of a scaling in the files of all versions.
Json scaling_json(const RopeOptions& rope) {
  Json json{{"rope_type", name_of(rope.scaling)}, {"factor", rope.factor}};
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

// Returns the rotated share of a head.
double rotary_share(const RopeOptions& rope, Index head_width) {
  return rope.width == 0 ? 1 : static_cast<double>(rope.width) / static_cast<double>(head_width);
}

// Returns the value of rope_parameters.
Json new_rope_json(const RopeOptions& rope, Index head_width) {
  const bool is_scaled = rope.scaling != RopeScaling::none;
  Json json = is_scaled ? scaling_json(rope) : Json{{"rope_type", kUnscaled}};
  json["rope_theta"] = rope.theta;
  if (rope.width > 0 && rope.width < head_width) {
    json[kShare] = rotary_share(rope, head_width);
  }
  return json;
}

// Returns the value of rope_scaling. Version 4 accepts exactly three keys for longrope and computes
// the others. It refuses longer objects, which is right for other values.
Json old_rope_json(const RopeOptions& rope, Index block_size) {
  const Index original = rope.original_max_position_embeddings;
  const double ratio = static_cast<double>(block_size) / static_cast<double>(original);
  const bool is_default = rope.attention_factor == longrope_attention_factor(ratio, original);
  if (rope.scaling == RopeScaling::longrope && is_default) {
    return {{"type", "longrope"},
            {"short_factor", rope.short_factors},
            {"long_factor", rope.long_factors}};
  }
  return rope.scaling == RopeScaling::none ? Json() : scaling_json(rope);
}

void write_rope(Json& json, const GptConfig& config) {
  json.update(Json{{"rope_theta", config.rope.theta},
                   {kOldRope, old_rope_json(config.rope, config.block_size)},
                   {kNewRope, new_rope_json(config.rope, config.elements_of_head())}});
}

}  // namespace

void rope_keys(const ConfigKeys& keys, const RopeKeys& names, GptConfig& config) {
  if (!keys.writes()) {
    config.rope = read_rope(*keys.reader(), names, config);
    return;
  }
  Json& json = *keys.json();
  write_rope(json, config);
  json[names.theta] = config.rope.theta;
  if (names.default_share) {
    const double share = rotary_share(config.rope, config.elements_of_head());
    json[names.share] = share;
    json[kNewRope][kShare] = share;
  }
}

void layer_rope_keys(const ConfigKeys& keys, double default_theta, double default_local_theta,
                     GptConfig& config) {
  if (!keys.writes()) {
    read_layer_ropes(*keys.reader(), default_theta, default_local_theta, config);
    return;
  }
  Json& json = *keys.json();
  write_rope(json, config);
  const double theta = config.rope_local_theta > 0 ? config.rope_local_theta : config.rope.theta;
  const Json whole = json[kNewRope];
  json[kNewRope] = {{kFullAttention, whole},
                    {kSlidingAttention, new_rope_json({.theta = theta}, 0)}};
  if (config.rope.scaling == RopeScaling::yarn) {
    json[kNewRope]["truncate"] = config.rope.truncate;
  }
}

}  // namespace headlight
