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

constexpr GptConfigKey basic(GptConfigKey key) {
  key.is_basic = true;
  return key;
}

constexpr GptConfigKey gpt2(GptConfigKey key) {
  key.is_gpt2 = true;
  return key;
}

constexpr GptConfigKey in_json(const char* name, GptConfigKey key) {
  key.json_name = name;
  return key;
}

constexpr GptConfigKey or_default(double (*value)(const G& config), GptConfigKey key) {
  key.same_as_default = value;
  return key;
}

constexpr GptConfigKey only_if(bool (*has_effect)(const G& config), GptConfigKey key) {
  key.has_effect = has_effect;
  return key;
}

constexpr GptConfigKey refused_if(bool (*is_refused)(const G& config), const char* fault,
                                  GptConfigKey key) {
  key.is_refused = is_refused;
  key.fault = fault;
  return key;
}

constexpr GptConfigKey following(std::string_view other, GptConfigKey key) {
  key.follows = other;
  return key;
}

constexpr GptConfigKey of_training(GptConfigKey key) {
  key.is_of_training = true;
  return key;
}

constexpr GptConfigKey heading(std::string_view group, GptConfigKey key) {
  key.group = group;
  return key;
}

constexpr auto kKeys = std::to_array<GptConfigKey>({
    gpt2({"vocab_size", &G::vocab_size, "", kSize}),
    basic(
        gpt2({"block_size", &G::block_size, "Longest sequence in tokens (context length)", kSize})),
    heading("Model size", basic(gpt2({"n_layer", &G::n_layer, "Layers", kLayers}))),
    basic(gpt2({"n_head", &G::n_head, "Attention heads in each layer", kSize})),
    or_default(
        all_heads,
        {"n_kv_head", &G::n_kv_head,
         "Key and value heads in each layer, each shared by n_head / n_kv_head heads; 0: n_head",
         kNotNegative}),
    basic(gpt2({"n_embd", &G::n_embd, "Width of the model", kSize})),
    gpt2(or_default(four_widths, {"n_inner", &G::n_inner, "Inner width of the MLPs; 0: 4 n_embd",
                                  kOptionalSize})),
    or_default(equal_share, {"head_width", &G::head_width, "Width of each head; 0: n_embd / n_head",
                             kOptionalSize}),
    {"heads_per_layer", &G::heads_per_layer, "", kNotNegative},
    {"key_groups", &G::key_groups},
    refused_if([](const G& config) { return !config.causal && !config.windows.empty(); },
               "needs causal attention",
               only_if(has_windows, {"windows", &G::windows, "", kOptionalSize})),
    gpt2(
        of_training(following("dropout", {"attention_dropout", &G::attention_dropout,
                                          "Dropout probability of attention weights", kFraction}))),
    gpt2(of_training(following(
        "dropout", {"residual_dropout", &G::residual_dropout,
                    "Dropout probability of the outputs of attention and MLPs", kFraction}))),
    gpt2(of_training(following("dropout", {"embedding_dropout", &G::embedding_dropout,
                                           "Dropout probability of the embedding", kFraction}))),
    heading("Architecture",
            gpt2({"bias", &G::bias, "Use biases in linear layers and layer norms"})),
    following("bias", {"qkv_bias", &G::qkv_bias, "Use biases for queries, keys and values"}),
    following("bias", {"attention_output_bias", &G::attention_output_bias,
                       "Use a bias in the output projection of attention"}),
    following("bias", {"mlp_bias", &G::mlp_bias, "Use biases in MLPs"}),
    gpt2({"tie_weights", &G::tie_weights,
          "Use the token embedding also as the weight of the output head"}),
    {"head_bias", &G::head_bias},
    or_default(one, {"logit_scale", &G::logit_scale, "", kScale}),
    or_default(one, {"embedding_scale", &G::embedding_scale,
                     "Multiply token embeddings by this number; 0: do not", kScale}),
    or_default(
        one,
        {"residual_multiplier", &G::residual_multiplier,
         "Show the residual stream to hooks and caches multiplied by this number, as Granite has "
         "it; 0: as it is",
         kScale}),
    {"norm", &G::norm,
     "Position of the norms: pre (GPT-2), post (the original transformer) or output (on "
     "outputs of attention and MLPs only: OLMo 2)"},
    {"norm_type", &G::norm_type, "Type of the norms: layer (GPT-2) or rms (Llama)"},
    gpt2({"layer_norm_epsilon", &G::layer_norm_epsilon, "Epsilon of the norms (layer and rms)",
          kFraction}),
    only_if(has_norm_weights, {"norm_gain_plus_one", &G::norm_gain_plus_one,
                               "Multiply by 1 + gain in norms (Gemma)"}),
    refused_if(
        [](const G& config) { return config.output_norms && config.norm != NormPosition::pre; },
        "needs norm = pre",
        {"output_norms", &G::output_norms,
         "Also normalise the outputs of attention and MLPs (Gemma 2 and 3)"}),
    {"norm_weights", &G::norm_weights, "false: norms have no weights (OLMo 1, nanochat)"},
    refused_if(
        [](const G& config) {
          return config.parallel_residual && !(config.norm == NormPosition::pre && config.mlp);
        },
        "needs norm = pre and MLPs",
        {"parallel_residual", &G::parallel_residual,
         "Compute attention and MLP of a layer from the same input (GPT-NeoX)"}),
    refused_if([](const G& config) { return config.shared_norm && !config.parallel_residual; },
               "needs parallel_residual",
               {"shared_norm", &G::shared_norm,
                "parallel_residual: use the same norm for attention and MLP"}),
    {"position", &G::position, "Position encoding: learned (GPT-2), rope (Llama) or none"},
    only_if(is_rotated,
            {"rope_theta", &R::theta, "rope: base (theta) of the frequencies", kNotNegative}),
    only_if(is_rotated_locally,
            {"rope_local_theta", &G::rope_local_theta,
             "rope: base (theta) of the frequencies in layers with a sliding window; 0: rope_theta",
             kTheta}),
    only_if(is_rotated, or_default(whole_head, {"rope_width", &R::width, "", kNotNegative})),
    only_if(is_rotated, {"rope_style", &R::style}),
    only_if(is_rotated, {"rope_reversed", &R::reversed}),
    only_if(
        is_rotated,
        {"rope_scaling", &R::scaling,
         "rope: method to extend the context: none, linear, llama3 or yarn (these two keep short "
         "wavelengths)"}),
    only_if(is_rotated, {"rope_factor", &R::factor,
                         "rope_scaling: factor by which the context is extended", kNotNegative}),
    only_if(
        has_llama3,
        in_json(
            "rope_low_freq_factor",
            {"low_freq_factor", &R::low_freq_factor,
             "llama3: scale wavelengths longer than the original context divided by this number",
             kNotNegative})),
    only_if(
        has_llama3,
        in_json(
            "rope_high_freq_factor",
            {"high_freq_factor", &R::high_freq_factor,
             "llama3: keep wavelengths shorter than the original context divided by this number",
             kNotNegative})),
    only_if(has_yarn, in_json("rope_beta_fast", {"beta_fast", &R::beta_fast, "", kNotNegative})),
    only_if(has_yarn, in_json("rope_beta_slow", {"beta_slow", &R::beta_slow, "", kNotNegative})),
    only_if(has_yarn, in_json("rope_truncate", {"truncate", &R::truncate})),
    only_if(has_original_context,
            in_json("rope_original_block_size",
                    {"original_max_position_embeddings", &R::original_max_position_embeddings,
                     "llama3, yarn, longrope: length of the original context in tokens",
                     kNotNegative})),
    only_if(has_attention_factor,
            in_json("rope_attention_factor",
                    {"attention_factor", &R::attention_factor, "", kNotNegative})),
    only_if(has_longrope, in_json("rope_short_factors", {"short_factor", &R::short_factors})),
    only_if(has_longrope, in_json("rope_long_factors", {"long_factor", &R::long_factors})),
    only_if(is_rotated_in_part, {"rope_per_layer", &G::rope_per_layer, "", kFlag}),
    or_default(root_scale,
               {"attention_scale", &G::attention_scale,
                "Multiply attention scores by this number; 0: 1 / sqrt(head_width)", kScale}),
    {"attention_cap", &G::attention_cap,
     "Replace each attention score s by cap tanh(s / cap) (Gemma 2: 50); 0: do not", kCap},
    {"logit_cap", &G::logit_cap,
     "Replace each logit x by cap tanh(x / cap) (Gemma 2: 30); 0: do not", kCap},
    {"qkv_clip", &G::qkv_clip,
     "Limit the magnitudes of queries, keys and values (OLMo 1); 0: do not", kScale},
    refused_if(
        [](const G& config) {
          return (config.qk_norm_whole || config.qk_norm_last) && !config.qk_norm;
        },
        "expected true, because of qk_norm_whole or qk_norm_last",
        {"qk_norm", &G::qk_norm, "Normalise the queries and keys of each head (Qwen 3)"}),
    refused_if(
        [](const G& config) {
          return config.qk_norm_whole &&
                 !(config.heads_per_layer.empty() && config.key_groups.empty());
        },
        "needs all heads in every layer",
        only_if(has_qk_norm,
                {"qk_norm_whole", &G::qk_norm_whole, "qk_norm: over all heads together (OLMo 2)"})),
    refused_if([](const G& config) { return config.qk_norm_whole && config.qk_norm_last; },
               "needs norms head by head: qk_norm_whole = false",
               only_if(has_qk_norm, {"qk_norm_last", &G::qk_norm_last,
                                     "qk_norm: after the rotation (nanochat)"})),
    gpt2({"activation", &G::activation,
          "Activation function of MLPs: gelu_new, gelu, relu, relu2 or silu"}),
    {"mlp", &G::mlp, "false: layers have attention only"},
    refused_if([](const G& config) { return config.gated_mlp && !config.mlp; }, "needs MLPs",
               {"gated_mlp", &G::gated_mlp,
                "Multiply activation(gate) by a second projection (with silu: SwiGLU)"}),
    {"head_numbers", &G::head_numbers},
    {"key_head_numbers", &G::key_head_numbers},
    {"causal", &G::causal},
    {"n_segment", &G::n_segment, "", kOptionalSize},
    {"embedding_norm", &G::embedding_norm},
    refused_if(
        [](const G& config) {
          return config.masked_head && (config.causal || config.norm != NormPosition::post);
        },
        "needs causal = false and norm = post", {"masked_head", &G::masked_head}),
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
  return texts.empty() ? "none" : headlight::joined(texts, kIsNested ? ";" : ",");
}

}  // namespace

std::span<const GptConfigKey> gpt_config_keys() { return kKeys; }

void copy_value(const GptConfigKey& key, const GptConfig& from, GptConfig& to) {
  std::visit([&](auto member) { value_in(to, member) = value_in(from, member); }, key.member);
}

bool is_equal_in(const GptConfigKey& key, const GptConfig& a, const GptConfig& b) {
  return std::visit([&](auto member) { return value_in(a, member) == value_in(b, member); },
                    key.member);
}

std::string value_text(const GptConfigKey& key, const GptConfig& config) {
  return visit_value(key, config, [](const auto& value) { return text_of(value); });
}

}  // namespace headlight
