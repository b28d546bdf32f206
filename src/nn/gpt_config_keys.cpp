#include "headlight/nn/gpt_config_keys.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "base/strings/read_number.h"
#include "base/strings/split.h"

namespace headlight {
namespace {

using G = GptConfig;
using R = RopeOptions;

constexpr auto kMostSize = static_cast<double>(kLargestSize);

constexpr ConfigRange kLayers{.least = 1, .most = static_cast<double>(kMostLayers)};
constexpr ConfigRange kSize{.least = 1, .most = kMostSize};
constexpr ConfigRange kOptionalSize{.least = 0, .most = kMostSize};
constexpr ConfigRange kNotNegative{.least = 0};
constexpr ConfigRange kFraction{.least = 0, .most = 1, .below_most = true};
constexpr ConfigRange kScale{.least = 0, .most = kLargestScale};
constexpr ConfigRange kTheta{.least = 0, .most = kLargestTheta};
// A smaller cap would make all logits or scores equal, and its quotients infinite.
constexpr ConfigRange kCap{.least = 1e-6, .most = kLargestScale, .is_cap = true};
constexpr ConfigRange kFlag{.least = 0, .most = 1};

double one(const G&) { return 1; }
double all_heads(const G& config) { return static_cast<double>(config.n_head); }
double four_widths(const G& config) { return static_cast<double>(4 * config.n_embd); }
double equal_share(const G& config) {
  const bool divides = config.n_head > 0 && config.n_embd % config.n_head == 0;
  return divides ? static_cast<double>(config.n_embd / config.n_head) : 0;
}
double whole_head(const G& config) { return static_cast<double>(config.elements_of_head()); }
double root_scale(const G& config) { return 1 / std::sqrt(whole_head(config)); }

bool has_norm_weights(const G& config) { return config.norm_weights; }
bool has_qk_norm(const G& config) { return config.qk_norm; }
bool has_windows(const G& config) {
  return std::ranges::any_of(config.windows, [](Index window) { return window != 0; });
}
bool is_rotated(const G& config) { return config.position == PositionKind::rope; }
bool is_rotated_locally(const G& config) { return is_rotated(config) && has_windows(config); }
bool is_rotated_in_part(const G& config) {
  return is_rotated(config) && std::ranges::count(config.rope_per_layer, 0) > 0;
}
template <RopeScaling... kScalings>
bool has_scaling(const G& config) {
  return is_rotated(config) && ((config.rope.scaling == kScalings) || ...);
}
constexpr auto has_llama3 = has_scaling<RopeScaling::llama3>;
constexpr auto has_yarn = has_scaling<RopeScaling::yarn>;
constexpr auto has_longrope = has_scaling<RopeScaling::longrope>;
constexpr auto has_attention_factor = has_scaling<RopeScaling::yarn, RopeScaling::longrope>;
constexpr auto has_original_context =
    has_scaling<RopeScaling::llama3, RopeScaling::yarn, RopeScaling::longrope>;

constexpr auto kKeys = std::to_array<GptConfigKey>({
    {.name = "vocab_size", .member = &G::vocab_size, .range = kSize, .is_gpt2 = true},
    {.name = "block_size", .member = &G::block_size, .range = kSize, .is_gpt2 = true},
    {.name = "n_layer", .member = &G::n_layer, .range = kLayers, .is_gpt2 = true},
    {.name = "n_head", .member = &G::n_head, .range = kSize, .is_gpt2 = true},
    {.name = "n_kv_head",
     .member = &G::n_kv_head,
     .range = kNotNegative,
     .same_as_default = all_heads},
    {.name = "n_embd", .member = &G::n_embd, .range = kSize, .is_gpt2 = true},
    {.name = "n_inner",
     .member = &G::n_inner,
     .range = kOptionalSize,
     .same_as_default = four_widths,
     .is_gpt2 = true},
    {.name = "head_width",
     .member = &G::head_width,
     .range = kOptionalSize,
     .same_as_default = equal_share},
    {.name = "heads_per_layer", .member = &G::heads_per_layer, .range = kNotNegative},
    {.name = "key_groups", .member = &G::key_groups},
    {.name = "windows", .member = &G::windows, .range = kOptionalSize, .has_effect = has_windows},
    {.name = "attention_dropout",
     .member = &G::attention_dropout,
     .range = kFraction,
     .is_gpt2 = true},
    {.name = "residual_dropout",
     .member = &G::residual_dropout,
     .range = kFraction,
     .is_gpt2 = true},
    {.name = "embedding_dropout",
     .member = &G::embedding_dropout,
     .range = kFraction,
     .is_gpt2 = true},
    {.name = "bias", .member = &G::bias, .is_gpt2 = true},
    {.name = "qkv_bias", .member = &G::qkv_bias},
    {.name = "attention_output_bias", .member = &G::attention_output_bias},
    {.name = "mlp_bias", .member = &G::mlp_bias},
    {.name = "tie_weights", .member = &G::tie_weights, .is_gpt2 = true},
    {.name = "head_bias", .member = &G::head_bias},
    {.name = "logit_scale", .member = &G::logit_scale, .range = kScale, .same_as_default = one},
    {.name = "embedding_scale",
     .member = &G::embedding_scale,
     .range = kScale,
     .same_as_default = one},
    {.name = "residual_multiplier",
     .member = &G::residual_multiplier,
     .range = kScale,
     .same_as_default = one},
    {.name = "norm", .member = &G::norm},
    {.name = "norm_type", .member = &G::norm_type},
    {.name = "layer_norm_epsilon",
     .member = &G::layer_norm_epsilon,
     .range = kFraction,
     .is_gpt2 = true},
    {.name = "norm_gain_plus_one",
     .member = &G::norm_gain_plus_one,
     .has_effect = has_norm_weights},
    {.name = "output_norms", .member = &G::output_norms},
    {.name = "norm_weights", .member = &G::norm_weights},
    {.name = "parallel_residual", .member = &G::parallel_residual},
    {.name = "shared_norm", .member = &G::shared_norm},
    {.name = "position", .member = &G::position},
    {.name = "rope_theta", .member = &R::theta, .range = kNotNegative, .has_effect = is_rotated},
    {.name = "rope_local_theta",
     .member = &G::rope_local_theta,
     .range = kTheta,
     .has_effect = is_rotated_locally},
    {.name = "rope_width",
     .member = &R::width,
     .range = kNotNegative,
     .same_as_default = whole_head,
     .has_effect = is_rotated},
    {.name = "rope_style", .member = &R::style, .has_effect = is_rotated},
    {.name = "rope_reversed", .member = &R::reversed, .has_effect = is_rotated},
    {.name = "rope_scaling", .member = &R::scaling, .has_effect = is_rotated},
    {.name = "rope_factor", .member = &R::factor, .range = kNotNegative, .has_effect = is_rotated},
    {.name = "low_freq_factor",
     .member = &R::low_freq_factor,
     .range = kNotNegative,
     .has_effect = has_llama3,
     .json_name = "rope_low_freq_factor"},
    {.name = "high_freq_factor",
     .member = &R::high_freq_factor,
     .range = kNotNegative,
     .has_effect = has_llama3,
     .json_name = "rope_high_freq_factor"},
    {.name = "beta_fast",
     .member = &R::beta_fast,
     .range = kNotNegative,
     .has_effect = has_yarn,
     .json_name = "rope_beta_fast"},
    {.name = "beta_slow",
     .member = &R::beta_slow,
     .range = kNotNegative,
     .has_effect = has_yarn,
     .json_name = "rope_beta_slow"},
    {.name = "truncate",
     .member = &R::truncate,
     .has_effect = has_yarn,
     .json_name = "rope_truncate"},
    {.name = "original_max_position_embeddings",
     .member = &R::original_max_position_embeddings,
     .range = kNotNegative,
     .has_effect = has_original_context,
     .json_name = "rope_original_block_size"},
    {.name = "attention_factor",
     .member = &R::attention_factor,
     .range = kNotNegative,
     .has_effect = has_attention_factor,
     .json_name = "rope_attention_factor"},
    {.name = "short_factor",
     .member = &R::short_factors,
     .has_effect = has_longrope,
     .json_name = "rope_short_factors"},
    {.name = "long_factor",
     .member = &R::long_factors,
     .has_effect = has_longrope,
     .json_name = "rope_long_factors"},
    {.name = "rope_per_layer",
     .member = &G::rope_per_layer,
     .range = kFlag,
     .has_effect = is_rotated_in_part},
    {.name = "attention_scale",
     .member = &G::attention_scale,
     .range = kScale,
     .same_as_default = root_scale},
    {.name = "attention_cap", .member = &G::attention_cap, .range = kCap},
    {.name = "logit_cap", .member = &G::logit_cap, .range = kCap},
    {.name = "qkv_clip", .member = &G::qkv_clip, .range = kScale},
    {.name = "qk_norm", .member = &G::qk_norm},
    {.name = "qk_norm_whole", .member = &G::qk_norm_whole, .has_effect = has_qk_norm},
    {.name = "qk_norm_last", .member = &G::qk_norm_last, .has_effect = has_qk_norm},
    {.name = "activation", .member = &G::activation, .is_gpt2 = true},
    {.name = "mlp", .member = &G::mlp},
    {.name = "gated_mlp", .member = &G::gated_mlp},
    {.name = "head_numbers", .member = &G::head_numbers},
    {.name = "key_head_numbers", .member = &G::key_head_numbers},
    {.name = "causal", .member = &G::causal},
    {.name = "n_segment", .member = &G::n_segment, .range = kOptionalSize},
    {.name = "embedding_norm", .member = &G::embedding_norm},
    {.name = "masked_head", .member = &G::masked_head},
});

static_assert(std::ranges::all_of(kKeys,
                                  [](const GptConfigKey& key) {
                                    const bool has_numbers =
                                        std::holds_alternative<Index G::*>(key.member) ||
                                        std::holds_alternative<double G::*>(key.member) ||
                                        std::holds_alternative<Index R::*>(key.member) ||
                                        std::holds_alternative<double R::*>(key.member) ||
                                        std::holds_alternative<std::vector<Index> G::*>(key.member);
                                    return has_numbers == key.range.has_value();
                                  }),
              "numbers have a range, and nothing else");

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(Index value) { return std::to_string(value); }
std::string text_of(double value) { return shortest_text(value); }
template <HasChoices E>
std::string text_of(E value) {
  return std::string(name_of(value));
}
std::string text_of(const std::optional<bool>& value) { return value ? text_of(*value) : "none"; }
template <class T>
std::string text_of(const std::vector<T>& values) {
  std::vector<std::string> texts;
  for (const T& value : values) {
    texts.push_back(text_of(value));
  }
  constexpr bool kIsNested = !std::is_arithmetic_v<T>;
  return texts.empty() ? "none" : joined(texts, kIsNested ? ";" : ",");
}

}  // namespace

std::span<const GptConfigKey> gpt_config_keys() { return kKeys; }

bool is_equal_in(const GptConfigKey& key, const GptConfig& a, const GptConfig& b) {
  return std::visit([&](auto member) { return value_in(a, member) == value_in(b, member); },
                    key.member);
}

std::string value_text(const GptConfigKey& key, const GptConfig& config) {
  return visit_value(key, config, [](const auto& value) { return text_of(value); });
}

}  // namespace headlight
