#include "headlight/nn/gpt_config_keys.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/strings/read_number.h"
#include "base/strings/split.h"

namespace headlight {
namespace {

using G = GptConfig;
using R = RopeOptions;

constexpr auto kMostSize = static_cast<double>(kLargestSize);

double one(const G&) { return 1; }
double all_heads(const G& config) { return static_cast<double>(config.n_head); }
double four_widths(const G& config) { return static_cast<double>(4 * config.n_embd); }
double equal_share(const G& config) {
  const bool divides = config.n_head > 0 && config.n_embd % config.n_head == 0;
  const Index width = divides ? config.n_embd / config.n_head : 0;
  return static_cast<double>(width);
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

// What few keys have. Each is a function of a row that sets it.
constexpr void gpt2(GptConfigKey& key) { key.is_gpt2 = true; }
constexpr void basic(GptConfigKey& key) { key.is_basic = true; }
constexpr auto heading(std::string_view group) {
  return [group](GptConfigKey& key) { key.group = group; };
}
constexpr auto follows(std::string_view other) {
  return [other](GptConfigKey& key) { key.follows = other; };
}
constexpr auto same_as_default(double (*value)(const G& config)) {
  return [value](GptConfigKey& key) { key.same_as_default = value; };
}
constexpr auto only_if(bool (*has_effect)(const G& config)) {
  return [has_effect](GptConfigKey& key) { key.has_effect = has_effect; };
}
constexpr auto files(std::string_view names) {
  return [names](GptConfigKey& key) { key.file_names = names; };
}
constexpr auto refused(const char* fault, bool (*is_refused)(const G& config)) {
  return [=](GptConfigKey& key) {
    key.fault = fault;
    key.is_refused = is_refused;
  };
}
constexpr auto in(const ConfigRange& range) {
  return [range](GptConfigKey& key) { key.range = range; };
}

constexpr auto kLayers = in({.least = 1, .most = static_cast<double>(kMostLayers)});
constexpr auto kSize = in({.least = 1, .most = kMostSize});
constexpr auto kOptionalSize = in({.least = 0, .most = kMostSize});
constexpr auto kNotNegative = in({.least = 0});
constexpr auto kFraction = in({.least = 0, .most = 1, .below_most = true});
constexpr auto kScale = in({.least = 0, .most = kLargestScale});
constexpr auto kTheta = in({.least = 0, .most = kLargestTheta});
// A smaller cap would make all logits or scores equal, and its quotients infinite.
constexpr auto kCap = in({.least = 1e-6, .most = kLargestScale, .is_cap = true});
constexpr auto kFlag = in({.least = 0, .most = 1});

template <class... Traits>
constexpr GptConfigKey key(const char* name, GptConfigMember member, std::string_view help = "",
                           const Traits&... traits) {
  GptConfigKey row{.name = name, .member = member, .help = help};
  (traits(row), ...);
  return row;
}

constexpr GptConfigKey kKeys[] = {
    key("vocab_size", &G::vocab_size, "", kSize, gpt2, files("vocab_size")),
    key("block_size", &G::block_size, "Longest sequence in tokens (context length)", kSize, gpt2,
        basic, files("n_positions n_ctx max_position_embeddings context_length")),
    key("n_layer", &G::n_layer, "Layers", kLayers, gpt2, basic, heading("Model size"),
        files("num_layers num_hidden_layers block_count")),
    key("n_head", &G::n_head, "Attention heads in each layer", kSize, gpt2, basic,
        files("num_heads num_attention_heads attention.head_count")),
    key("n_kv_head", &G::n_kv_head,
        "Key and value heads in each layer, each shared by n_head / n_kv_head heads; 0: n_head",
        kNotNegative, same_as_default(all_heads),
        files("num_key_value_heads attention.head_count_kv")),
    key("n_embd", &G::n_embd, "Width of the model", kSize, gpt2, basic,
        files("hidden_size embedding_length")),
    key("n_inner", &G::n_inner, "Inner width of the MLPs; 0: 4 n_embd", kOptionalSize,
        same_as_default(four_widths), gpt2, files("intermediate_size ffn_dim feed_forward_length")),
    key("head_width", &G::head_width, "Width of each head; 0: n_embd / n_head", kOptionalSize,
        same_as_default(equal_share), files("head_dim attention.key_length")),
    key("heads_per_layer", &G::heads_per_layer, "", kNotNegative),
    key("key_groups", &G::key_groups),
    key("windows", &G::windows, "", kOptionalSize, only_if(has_windows),
        refused("needs causal attention",
                [](const G& config) { return !config.causal && !config.windows.empty(); }),
        files("window_size sliding_window attention.sliding_window")),
    key("attention_dropout", &G::attention_dropout, "Dropout probability of attention weights",
        kFraction, follows("dropout"), gpt2, files("attn_pdrop")),
    key("residual_dropout", &G::residual_dropout,
        "Dropout probability of the outputs of attention and MLPs", kFraction, follows("dropout"),
        gpt2, files("resid_pdrop resid_dropout hidden_dropout dropout headlight_residual_dropout")),
    key("embedding_dropout", &G::embedding_dropout, "Dropout probability of the embedding",
        kFraction, follows("dropout"), gpt2,
        files("embd_pdrop embed_dropout hidden_dropout headlight_embedding_dropout")),
    key("bias", &G::bias, "Use biases in linear layers and layer norms", gpt2,
        heading("Architecture")),
    key("qkv_bias", &G::qkv_bias, "Use biases for queries, keys and values", follows("bias")),
    key("attention_output_bias", &G::attention_output_bias,
        "Use a bias in the output projection of attention", follows("bias")),
    key("mlp_bias", &G::mlp_bias, "Use biases in MLPs", follows("bias")),
    key("tie_weights", &G::tie_weights,
        "Use the token embedding also as the weight of the output head", gpt2),
    key("head_bias", &G::head_bias),
    key("logit_scale", &G::logit_scale, "", kScale, same_as_default(one), files("logits_scaling")),
    key("embedding_scale", &G::embedding_scale,
        "Multiply token embeddings by this number; 0: do not", kScale, same_as_default(one),
        files("embedding_multiplier")),
    key("residual_multiplier", &G::residual_multiplier,
        "Show the residual stream to hooks and caches multiplied by this number, as Granite has "
        "it; 0: as it is",
        kScale, same_as_default(one)),
    key("norm", &G::norm,
        "Position of the norms: pre (GPT-2), post (the original transformer) or output (on "
        "outputs of attention and MLPs only: OLMo 2)"),
    key("norm_type", &G::norm_type, "Type of the norms: layer (GPT-2) or rms (Llama)"),
    key("layer_norm_epsilon", &G::layer_norm_epsilon, "Epsilon of the norms (layer and rms)",
        kFraction, gpt2,
        files("layer_norm_eps rms_norm_eps norm_epsilon attention.layer_norm_epsilon "
              "attention.layer_norm_rms_epsilon")),
    key("norm_gain_plus_one", &G::norm_gain_plus_one, "Multiply by 1 + gain in norms (Gemma)",
        only_if(has_norm_weights)),
    key("output_norms", &G::output_norms,
        "Also normalise the outputs of attention and MLPs (Gemma 2 and 3)",
        refused("needs norm = pre",
                [](const G& config) {
                  return config.output_norms && config.norm != NormPosition::pre;
                })),
    key("norm_weights", &G::norm_weights, "false: norms have no weights (OLMo 1, nanochat)"),
    key("parallel_residual", &G::parallel_residual,
        "Compute attention and MLP of a layer from the same input (GPT-NeoX)",
        refused("needs norm = pre and MLPs",
                [](const G& config) {
                  return config.parallel_residual &&
                         !(config.norm == NormPosition::pre && config.mlp);
                })),
    key("shared_norm", &G::shared_norm,
        "parallel_residual: use the same norm for attention and MLP",
        refused("needs parallel_residual",
                [](const G& config) { return config.shared_norm && !config.parallel_residual; })),
    key("position", &G::position, "Position encoding: learned (GPT-2), rope (Llama) or none"),
    key("rope_theta", &R::theta, "rope: base (theta) of the frequencies", kNotNegative,
        files("rotary_emb_base rope.freq_base")),
    key("rope_local_theta", &G::rope_local_theta,
        "rope: base (theta) of the frequencies in layers with a sliding window; 0: rope_theta",
        kTheta, only_if(is_rotated_locally), files("rope_local_base_freq rope.freq_base_swa")),
    key("rope_width", &R::width, "", kNotNegative, same_as_default(whole_head),
        files("partial_rotary_factor rope_width rope.dimension_count")),
    key("rope_style", &R::style),
    key("rope_reversed", &R::reversed),
    key("rope_scaling", &R::scaling,
        "rope: method to extend the context: none, linear, llama3 or yarn (these two keep short "
        "wavelengths)"),
    key("rope_factor", &R::factor, "rope_scaling: factor by which the context is extended",
        kNotNegative, files("factor")),
    key("low_freq_factor", &R::low_freq_factor,
        "llama3: scale wavelengths longer than the original context divided by this number",
        kNotNegative, only_if(has_llama3), files("rope_low_freq_factor")),
    key("high_freq_factor", &R::high_freq_factor,
        "llama3: keep wavelengths shorter than the original context divided by this number",
        kNotNegative, only_if(has_llama3), files("rope_high_freq_factor")),
    key("beta_fast", &R::beta_fast, "", kNotNegative, only_if(has_yarn), files("rope_beta_fast")),
    key("beta_slow", &R::beta_slow, "", kNotNegative, only_if(has_yarn), files("rope_beta_slow")),
    key("truncate", &R::truncate, "", only_if(has_yarn), files("rope_truncate")),
    key("original_max_position_embeddings", &R::original_max_position_embeddings,
        "llama3, yarn, longrope: length of the original context in tokens", kNotNegative,
        only_if(has_original_context), files("rope_original_block_size")),
    key("attention_factor", &R::attention_factor, "", kNotNegative, only_if(has_attention_factor),
        files("rope_attention_factor")),
    key("short_factor", &R::short_factors, "", only_if(has_longrope), files("rope_short_factors")),
    key("long_factor", &R::long_factors, "", only_if(has_longrope), files("rope_long_factors")),
    key("rope_per_layer", &G::rope_per_layer, "", kFlag, only_if(is_rotated_in_part),
        files("no_rope_layers")),
    key("attention_scale", &G::attention_scale,
        "Multiply attention scores by this number; 0: 1 / sqrt(head_width)", kScale,
        same_as_default(root_scale), files("query_pre_attn_scalar attention_multiplier")),
    key("attention_cap", &G::attention_cap,
        "Replace each attention score s by cap tanh(s / cap) (Gemma 2: 50); 0: do not", kCap,
        files("attn_logit_softcapping")),
    key("logit_cap", &G::logit_cap,
        "Replace each logit x by cap tanh(x / cap) (Gemma 2: 30); 0: do not", kCap,
        files("final_logit_softcapping")),
    key("qkv_clip", &G::qkv_clip,
        "Limit the magnitudes of queries, keys and values (OLMo 1); 0: do not", kScale,
        files("clip_qkv")),
    key("qk_norm", &G::qk_norm, "Normalise the queries and keys of each head (Qwen 3)",
        refused("expected true, because of qk_norm_whole or qk_norm_last",
                [](const G& config) {
                  return (config.qk_norm_whole || config.qk_norm_last) && !config.qk_norm;
                })),
    key("qk_norm_whole", &G::qk_norm_whole, "qk_norm: over all heads together (OLMo 2)",
        only_if(has_qk_norm),
        refused("needs all heads in every layer",
                [](const G& config) {
                  return config.qk_norm_whole &&
                         !(config.heads_per_layer.empty() && config.key_groups.empty());
                })),
    key("qk_norm_last", &G::qk_norm_last, "qk_norm: after the rotation (nanochat)",
        only_if(has_qk_norm),
        refused("needs norms head by head: qk_norm_whole = false",
                [](const G& config) { return config.qk_norm_whole && config.qk_norm_last; })),
    key("activation", &G::activation,
        "Activation function of MLPs: gelu_new, gelu, relu, relu2 or silu", gpt2),
    key("mlp", &G::mlp, "false: layers have attention only"),
    key("gated_mlp", &G::gated_mlp,
        "Multiply activation(gate) by a second projection (with silu: SwiGLU)",
        refused("needs MLPs", [](const G& config) { return config.gated_mlp && !config.mlp; })),
    key("head_numbers", &G::head_numbers),
    key("key_head_numbers", &G::key_head_numbers),
    key("causal", &G::causal),
    key("n_segment", &G::n_segment, "", kOptionalSize),
    key("embedding_norm", &G::embedding_norm),
    key("masked_head", &G::masked_head, "",
        refused("needs causal = false and norm = post",
                [](const G& config) {
                  return config.masked_head && (config.causal || config.norm != NormPosition::post);
                })),
};

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

bool is_of_rope(const GptConfigKey& key) {
  return std::visit(
      []<class Owner, class T>(T Owner::*) { return std::is_same_v<Owner, RopeOptions>; },
      key.member);
}

bool has_effect(const GptConfigKey& key, const GptConfig& config) {
  return (!is_of_rope(key) || is_rotated(config)) &&
         (key.has_effect == nullptr || key.has_effect(config));
}

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
