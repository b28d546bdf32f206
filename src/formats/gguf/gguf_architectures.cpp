#include "formats/gguf/gguf_architectures.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "formats/gguf/gguf_rope.h"
#include "headlight/base/error.h"

namespace headlight {

namespace {

constexpr Choice<Part> kGgufNames[] = {{"token_embd", Part::token_embedding},
                                       {"position_embd", Part::position_embedding},
                                       {"attn_norm", Part::attention_norm},
                                       {"attn_qkv", Part::query_key_value},
                                       {"attn_output", Part::attention_output},
                                       {"attn_q_norm", Part::query_norm},
                                       {"attn_k_norm", Part::key_norm},
                                       {"post_attention_norm", Part::attention_output_norm},
                                       {"ffn_norm", Part::mlp_norm},
                                       {"ffn_up", Part::mlp_in},
                                       {"ffn_gate", Part::mlp_gate},
                                       {"ffn_down", Part::mlp_out},
                                       {"post_ffw_norm", Part::mlp_output_norm},
                                       {"output_norm", Part::final_norm},
                                       {"output", Part::head}};
constexpr Choice<Part> kSplitName[] = {{"attn_q attn_k attn_v", Part::query_key_value}};

std::vector<StoredTensor> fused_tensors(const Weight& weight, const GptConfig& config) {
  return named_tensors(weight, config, "blk.", kGgufNames);
}

// Returns tensors with separate queries, keys and values.
std::vector<StoredTensor> split_tensors(const Weight& weight, const GptConfig& config) {
  return weight.part == Part::query_key_value ? named_tensors(weight, config, "blk.", kSplitName)
                                              : fused_tensors(weight, config);
}

// llama.cpp's Llama rotates neighbouring elements of a head together; ours are half a head apart.
std::vector<StoredTensor> llama_tensors(const Weight& weight, const GptConfig& config) {
  std::vector<StoredTensor> tensors = split_tensors(weight, config);
  if (weight.part == Part::query_key_value) {
    const AttentionPlan plan = block_plan(config, weight.layer).attention;
    tensors[0].order = {.outer = plan.heads, .first = plan.head_width / 2, .second = 2};
    tensors[1].order = {.outer = plan.key_heads, .first = plan.head_width / 2, .second = 2};
  }
  return tensors;
}

// Phi-3 stores the gate before the first matrix of the MLP, in one tensor.
std::vector<StoredTensor> phi3_tensors(const Weight& weight, const GptConfig& config) {
  std::vector<StoredTensor> tensors = fused_tensors(weight, config);
  if (weight.part == Part::mlp_gate || weight.part == Part::mlp_in) {
    const Index inner = tensors[0].rows;
    tensors[0].name.replace(tensors[0].name.find("ffn_"), std::string::npos, "ffn_up.weight");
    tensors[0].file_rows = 2 * inner;
    tensors[0].file_begin = weight.part == Part::mlp_gate ? 0 : inner;
  }
  return tensors;
}

// Stores gains as the factors 1 + w.
std::vector<StoredTensor> gemma_tensors(const Weight& weight, const GptConfig& config) {
  std::vector<StoredTensor> tensors = split_tensors(weight, config);
  tensors[0].shift = tensors[0].name.ends_with("_norm.weight") ? 1 : 0;
  return tensors;
}

Index head_width_of(const GptConfig& config) { return block_plan(config, 0).attention.head_width; }

// Reads the configuration that Llama, Qwen and Gemma share.
void read_rms_layers(GgufKeys& keys, const GgufFile& file, GptConfig& config) {
  config.bias = false;
  config.norm_type = NormKind::rms;
  config.layer_norm_epsilon = keys.number("attention.layer_norm_rms_epsilon");
  config.gated_mlp = true;
  config.activation = Activation::silu;
  config.position = PositionKind::rope;
  config.rope = read_gguf_rope(keys, file, config.head_width);
  config.qkv_bias = file.find_tensor("blk.0.attn_q.bias") != nullptr;
  config.attention_output_bias = file.find_tensor("blk.0.attn_output.bias") != nullptr;
  config.mlp_bias = file.find_tensor("blk.0.ffn_up.bias") != nullptr;
}

void require_whole_heads(GgufKeys& keys, const GptConfig& config) {
  require_value(config.rope.width == 0, keys.whole("rope.dimension_count"), "expected ",
                config.head_width, ", the width of a head, got ", config.rope.width);
}

// Reads Phi-3, whose heads may be rotated in part.
void read_phi3(GgufKeys& keys, const GgufFile& file, GptConfig& config) {
  read_rms_layers(keys, file, config);
  // llama.cpp would ignore a window that is shorter than the context.
  const Index window = keys.integer("attention.sliding_window", 0);
  require_value(window == 0 || window >= config.block_size, keys.whole("attention.sliding_window"),
                "expected 0 or at least the context of ", config.block_size, ", got ", window);
}

void read_llama(GgufKeys& keys, const GgufFile& file, GptConfig& config) {
  read_phi3(keys, file, config);
  require_whole_heads(keys, config);
}

void read_qwen3(GgufKeys& keys, const GgufFile& file, GptConfig& config) {
  read_llama(keys, file, config);
  config.qk_norm = true;
}

// Returns the scale of attention scores. The 27B models of Gemma 2 and 3 (46 and 62 layers) scale
// as for another head width.
double gemma_scale(const GptConfig& config) {
  const bool is_large = config.n_layer == (config.qk_norm ? 62 : 46);
  const Index width = is_large ? config.n_embd / config.n_head : config.elements_of_head();
  return 1 / std::sqrt(static_cast<double>(width));
}

// Returns the windows of all layers; every `pattern`-th layer has none.
std::vector<Index> gemma_windows(Index layers, Index window, Index pattern) {
  std::vector<Index> windows;
  for (Index layer = 0; layer < layers; ++layer) {
    windows.push_back(pattern > 0 && (layer + 1) % pattern == 0 ? 0 : window);
  }
  return windows;
}

// Reads the layers of all versions of Gemma.
void read_gemma(GgufKeys& keys, const GgufFile& file, GptConfig& config) {
  read_rms_layers(keys, file, config);
  require_whole_heads(keys, config);
  config.embedding_scale = std::sqrt(static_cast<double>(config.n_embd));
  config.norm_gain_plus_one = true;
  config.activation = Activation::gelu_tanh;
}

constexpr Index kGemma2Pattern = 2;

void read_gemma2(GgufKeys& keys, const GgufFile& file, GptConfig& config) {
  read_gemma(keys, file, config);
  config.output_norms = true;
  config.attention_scale = gemma_scale(config);
  config.attention_cap = keys.number("attn_logit_softcapping", 50);
  config.logit_cap = keys.number("final_logit_softcapping", 30);
  const Index pattern = keys.integer("attention.sliding_window_pattern", kGemma2Pattern);
  config.windows =
      gemma_windows(config.n_layer, keys.integer("attention.sliding_window", 4096), pattern);
}

// OLMo 2, or OLMo 3 if there are windows.
constexpr Index kOlmoPattern = 4;

void read_olmo2(GgufKeys& keys, const GgufFile& file, GptConfig& config) {
  read_rms_layers(keys, file, config);
  require_whole_heads(keys, config);
  config.norm = NormPosition::output;
  config.qk_norm = true;
  config.qk_norm_whole = true;
  const Index window = keys.integer("attention.sliding_window", 0);
  const Index pattern = keys.integer("attention.sliding_window_pattern", kOlmoPattern);
  if (window > 0) {
    config.windows = gemma_windows(config.n_layer, window, pattern);
    config.rope_local_theta = config.rope.theta;
  }
}

// llama.cpp gives EXAONE 4 windows if it has this number of layers.
constexpr Index kLayersOfLargeExaone = 64;

std::vector<Index> exaone_windows(Index layers, Index window) {
  return layers == kLayersOfLargeExaone ? gemma_windows(layers, window, 4) : std::vector<Index>();
}

// Returns 1 for each layer with a window, else 0: EXAONE 4 rotates only in these.
std::vector<Index> exaone_rotations(const std::vector<Index>& windows) {
  std::vector<Index> rotated;
  for (const Index window : windows) {
    rotated.push_back(window > 0 ? 1 : 0);
  }
  return rotated;
}

void read_exaone4(GgufKeys& keys, const GgufFile& file, GptConfig& config) {
  read_rms_layers(keys, file, config);
  require_whole_heads(keys, config);
  config.norm = NormPosition::output;
  config.qk_norm = true;
  config.windows = exaone_windows(config.n_layer, keys.integer("attention.sliding_window", 4096));
  config.rope_per_layer = exaone_rotations(config.windows);
}

// Returns 0 for every fourth layer, which does not rotate, else 1.
std::vector<Index> smollm3_rotations(Index layers) {
  return exaone_rotations(gemma_windows(layers, 1, 4));
}

void read_smollm3(GgufKeys& keys, const GgufFile& file, GptConfig& config) {
  read_llama(keys, file, config);
  config.rope_per_layer = smollm3_rotations(config.n_layer);
}

constexpr Index kGemmaPattern = 6;
constexpr double kGemmaLocalTheta = 10000;

void read_gemma3(GgufKeys& keys, const GgufFile& file, GptConfig& config) {
  read_gemma(keys, file, config);
  config.output_norms = true;
  config.qk_norm = true;
  config.attention_scale = gemma_scale(config);
  const Index window = keys.integer("attention.sliding_window", 0);
  const Index pattern = keys.integer("attention.sliding_window_pattern", kGemmaPattern);
  const double theta = keys.number("rope.freq_base_swa", kGemmaLocalTheta);
  if (window > 0) {
    config.windows = gemma_windows(config.n_layer, window, pattern);
    config.rope_local_theta = theta;
  }
}

void read_starcoder2(GgufKeys& keys, const GgufFile& file, GptConfig& config) {
  config.norm_type = NormKind::layer;
  config.layer_norm_epsilon = keys.number("attention.layer_norm_epsilon");
  config.activation = Activation::gelu_tanh;
  config.position = PositionKind::rope;
  config.rope = read_gguf_rope(keys, file, config.head_width);
  require_whole_heads(keys, config);
}

void read_layer_norms(GgufKeys& keys, GptConfig& config) {
  config.norm_type = NormKind::layer;
  config.layer_norm_epsilon = keys.number("attention.layer_norm_epsilon");
  require_value(config.n_kv_head == config.n_head, keys.whole("attention.head_count_kv"),
                "expected ", config.n_head, ", the number of heads, got ", config.n_kv_head);
}

void read_gpt2(GgufKeys& keys, const GgufFile&, GptConfig& config) {
  read_layer_norms(keys, config);
  config.bias = false;  // until a bias is not 0: see ModelWeights::infer_missing_fields
  config.activation = Activation::gelu_tanh;
}

void read_gptneox(GgufKeys& keys, const GgufFile& file, GptConfig& config) {
  read_layer_norms(keys, config);
  config.activation = Activation::gelu_erf;
  config.position = PositionKind::rope;
  config.rope = read_gguf_rope(keys, file, config.head_width);
  config.parallel_residual = keys.boolean("use_parallel_residual", true);
}

std::string refusal_of_qwen2(const GptConfig& config) {
  return first_refusal(
      {{!config.windows.empty(), "windows cannot be expressed: qwen2 of llama.cpp has none"},
       {head_width_of(config) * config.n_head != config.n_embd,
        "this head_width cannot be expressed: qwen2 of llama.cpp has n_embd / n_head"}});
}

std::string refusal_of_qwen3(const GptConfig& config) {
  return first_refusal(
      {{!config.windows.empty(), "windows cannot be expressed: qwen3 of llama.cpp has none"},
       {block_plan(config, 0).qkv_bias,
        "biases of attention cannot be expressed: qwen3 of llama.cpp has none"}});
}

// Returns why llama.cpp's Gemma 1 or 2 cannot compute the model.
std::string refusal_of_gemma(const GptConfig& config) {
  return first_refusal(
      {{!config.tie_weights, "a head of its own cannot be expressed: gemma of llama.cpp has none"},
       {block_plan(config, 0).qkv_bias,
        "biases of attention cannot be expressed: gemma of llama.cpp has none"}});
}

std::string refusal_of_gemma2(const GptConfig& config) {
  const std::vector<Index> default_windows =
      gemma_windows(config.n_layer, common_window(config), kGemma2Pattern);
  const double default_scale = gemma_scale(config);
  const double own = 1 / std::sqrt(static_cast<double>(config.elements_of_head()));
  const double scale = config.attention_scale > 0 ? config.attention_scale : own;
  return first_refusal(
      {{true, refusal_of_gemma(config)},
       {config.windows.empty() || config.windows != default_windows,
        "these windows cannot be expressed: gemma2 of llama.cpp has them in every second layer"},
       {config.attention_cap == 0 || config.logit_cap == 0,
        "missing soft caps cannot be expressed: gemma2 of llama.cpp has both"},
       {std::abs(scale - default_scale) > 1e-6 * default_scale,
        concat_text("attention_scale = ", scale, " cannot be expressed: gemma2 of llama.cpp has ",
                    default_scale)}});
}

bool has_square_attention(const GptConfig& config) {
  return head_width_of(config) * config.n_head == config.n_embd;
}

std::string refusal_of_olmo2(const GptConfig& config) {
  const bool has_windows = !config.windows.empty();
  const std::vector<Index> default_windows =
      gemma_windows(config.n_layer, common_window(config), kOlmoPattern);
  return first_refusal(
      {{has_windows && config.windows != default_windows,
        "these windows cannot be expressed: olmo2 of llama.cpp has them in three layers of four"},
       {has_windows && config.rope_local_theta != config.rope.theta,
        "rope_local_theta cannot be expressed: olmo2 of llama.cpp has rope_theta in all layers"},
       {block_plan(config, 0).qkv_bias || !has_square_attention(config),
        "these heads cannot be expressed: olmo2 of llama.cpp has no biases, and heads of width "
        "n_embd / n_head"}});
}

std::string refusal_of_exaone4(const GptConfig& config) {
  const std::vector<Index> windows = exaone_windows(config.n_layer, common_window(config));
  return windows == config.windows && exaone_rotations(windows) == config.rope_per_layer
             ? ""
             : "these windows cannot be expressed: exaone4 of llama.cpp has them in three layers "
               "of "
               "four of models with 64 layers";
}

std::string refusal_of_smollm3(const GptConfig& config) {
  return first_refusal(
      {{config.rope_per_layer != smollm3_rotations(config.n_layer),
        "these layers cannot be expressed: smollm3 of llama.cpp rotates in three layers of four"},
       {!config.windows.empty(), "windows cannot be expressed: smollm3 of llama.cpp has none"}});
}

std::string refusal_of_phi3(const GptConfig& config) {
  return first_refusal(
      {{!config.windows.empty(), "windows cannot be expressed: phi3 of llama.cpp has none"},
       {config.rope.scaling == RopeScaling::longrope,
        "rope_scaling = longrope cannot be expressed in GGUF files that Headlight writes"}});
}

std::string refusal_of_starcoder2(const GptConfig& config) {
  return first_refusal(
      {{!config.windows.empty(), "windows cannot be expressed: starcoder2 of llama.cpp has none"},
       {!config.bias || !block_plan(config, 0).qkv_bias || !has_square_attention(config),
        "these layers cannot be expressed: starcoder2 of llama.cpp has all biases, and heads of "
        "width n_embd / n_head"}});
}

std::string refusal_of_gemma3(const GptConfig& config) {
  const std::vector<Index> default_windows =
      gemma_windows(config.n_layer, common_window(config), kGemmaPattern);
  const double scale = block_plan(config, 0).attention.scale;
  const double default_scale = gemma_scale(config);
  const bool has_other_scale = scale > 0 ? std::abs(scale - default_scale) > 1e-6 * default_scale
                                         : scale == 0 && config.n_layer == 62;
  return first_refusal(
      {{!config.windows.empty() && config.windows != default_windows,
        "these windows cannot be expressed: gemma3 of llama.cpp has them in five layers of six"},
       {has_other_scale,
        concat_text("attention_scale = ", scale, " cannot be expressed: gemma3 of llama.cpp has ",
                    default_scale)},
       {block_plan(config, 0).qkv_bias,
        "biases of attention cannot be expressed: gemma3 of llama.cpp has none"}});
}

std::string refusal_of_gptneox(const GptConfig& config) {
  return block_plan(config, 0).qkv_bias
             ? ""
             : "these biases cannot be expressed: gptneox of llama.cpp has all of them";
}

void write_rope(const GptConfig& config, GgufKeyWriter& keys) {
  const RopeOptions& rope = config.rope;
  keys.size("rope.dimension_count", rope.width > 0 ? rope.width : head_width_of(config));
  keys.number("rope.freq_base", rope.theta);
  if (rope.scaling == RopeScaling::linear) {
    keys.add("rope.scaling.type", std::string("linear"));
    keys.number("rope.scaling.factor", rope.factor);
  }
  // llama.cpp only needs the tensor of factors.
  const RopeOptions defaults;
  const bool has_default_bounds =
      rope.low_freq_factor == defaults.low_freq_factor &&
      rope.high_freq_factor == defaults.high_freq_factor &&
      rope.original_max_position_embeddings == defaults.original_max_position_embeddings;
  if (rope.scaling == RopeScaling::llama3 && !has_default_bounds) {
    keys.number(kGgufLowFrequency, rope.low_freq_factor);
    keys.number(kGgufHighFrequency, rope.high_freq_factor);
    keys.size(kGgufOriginalContext, rope.original_max_position_embeddings);
  }
}

void write_rms_layers(const GptConfig& config, GgufKeyWriter& keys) {
  keys.size("attention.key_length", head_width_of(config));
  keys.size("attention.value_length", head_width_of(config));
  keys.number("attention.layer_norm_rms_epsilon", config.layer_norm_epsilon);
  write_rope(config, keys);
}

void write_gemma3(const GptConfig& config, GgufKeyWriter& keys) {
  write_rms_layers(config, keys);
  if (!config.windows.empty()) {
    keys.size("attention.sliding_window", common_window(config));
    if (config.rope_local_theta != kGemmaLocalTheta) {
      keys.number("rope.freq_base_swa", config.rope_local_theta);
    }
  }
}

void write_gemma2(const GptConfig& config, GgufKeyWriter& keys) {
  write_rms_layers(config, keys);
  keys.size("attention.sliding_window", common_window(config));
  keys.number("attn_logit_softcapping", config.attention_cap);
  keys.number("final_logit_softcapping", config.logit_cap);
}

void write_with_window(const GptConfig& config, GgufKeyWriter& keys) {
  write_rms_layers(config, keys);
  if (!config.windows.empty()) {
    keys.size("attention.sliding_window", common_window(config));
  }
}

void write_starcoder2(const GptConfig& config, GgufKeyWriter& keys) {
  keys.number("attention.layer_norm_epsilon", config.layer_norm_epsilon);
  write_rope(config, keys);
}

void write_gpt2(const GptConfig& config, GgufKeyWriter& keys) {
  keys.number("attention.layer_norm_epsilon", config.layer_norm_epsilon);
}

void write_gptneox(const GptConfig& config, GgufKeyWriter& keys) {
  keys.number("attention.layer_norm_epsilon", config.layer_norm_epsilon);
  keys.add("use_parallel_residual", config.parallel_residual);
  write_rope(config, keys);
}

const std::array kArchitectures{
    GgufArchitecture{
        .name = "llama",
        .layout = {.head = kGgufHead, .buffers = {kGgufRopeFactors}, .tensors_of = llama_tensors},
        .family = kLlama,
        .activation = Activation::silu,
        .read = read_llama,
        .write = write_rms_layers},
    GgufArchitecture{.name = "qwen2",
                     .layout = {.head = kGgufHead, .tensors_of = split_tensors},
                     .family = kQwen2,
                     .activation = Activation::silu,
                     .own_refusal = refusal_of_qwen2,
                     .read = read_llama,
                     .write = write_rms_layers},
    GgufArchitecture{.name = "qwen3",
                     .layout = {.head = kGgufHead, .tensors_of = split_tensors},
                     .family = kQwen3,
                     .activation = Activation::silu,
                     .own_refusal = refusal_of_qwen3,
                     .read = read_qwen3,
                     .write = write_rms_layers},
    GgufArchitecture{.name = "gemma3",
                     .layout = {.head = kGgufHead, .tensors_of = gemma_tensors},
                     .family = kGemma3,
                     .activation = Activation::gelu_tanh,
                     .own_refusal = refusal_of_gemma3,
                     .read = read_gemma3,
                     .write = write_gemma3},
    GgufArchitecture{.name = "gemma2",
                     .layout = {.head = kGgufHead, .tensors_of = gemma_tensors},
                     .family = kGemma2,
                     .activation = Activation::gelu_tanh,
                     .own_refusal = refusal_of_gemma2,
                     .read = read_gemma2,
                     .write = write_gemma2},
    GgufArchitecture{.name = "gemma",
                     .layout = {.head = kGgufHead, .tensors_of = gemma_tensors},
                     .family = kGemma,
                     .activation = Activation::gelu_tanh,
                     .own_refusal = refusal_of_gemma,
                     .read = read_gemma,
                     .write = write_rms_layers},
    GgufArchitecture{.name = "olmo2",
                     .layout = {.head = kGgufHead, .tensors_of = split_tensors},
                     .family = kOlmo3,
                     .activation = Activation::silu,
                     .own_refusal = refusal_of_olmo2,
                     .read = read_olmo2,
                     .write = write_with_window,
                     .has_own_head = true},
    GgufArchitecture{.name = "exaone4",
                     .layout = {.head = kGgufHead, .tensors_of = split_tensors},
                     .family = kExaone4,
                     .activation = Activation::silu,
                     .own_refusal = refusal_of_exaone4,
                     .read = read_exaone4,
                     .write = write_with_window},
    GgufArchitecture{.name = "smollm3",
                     .layout = {.head = kGgufHead, .tensors_of = llama_tensors},
                     .family = kSmolLm3,
                     .activation = Activation::silu,
                     .own_refusal = refusal_of_smollm3,
                     .read = read_smollm3,
                     .write = write_rms_layers},
    GgufArchitecture{.name = "phi3",
                     .layout = {.head = kGgufHead, .tensors_of = phi3_tensors},
                     .family = kPhi3,
                     .activation = Activation::silu,
                     .own_refusal = refusal_of_phi3,
                     .read = read_phi3,
                     .write = write_rms_layers},
    GgufArchitecture{.name = "starcoder2",
                     .layout = {.head = kGgufHead, .tensors_of = split_tensors},
                     .family = kStarcoder2,
                     .activation = Activation::gelu_tanh,
                     .own_refusal = refusal_of_starcoder2,
                     .read = read_starcoder2,
                     .write = write_starcoder2},
    GgufArchitecture{
        .name = "gpt2",
        .layout = {.head = kGgufHead, .tensors_of = fused_tensors, .has_all_biases = true},
        .family = kGpt2,
        .activation = Activation::gelu_tanh,
        .read = read_gpt2,
        .write = write_gpt2},
    GgufArchitecture{.name = "gptneox",
                     .layout = {.head = kGgufHead, .tensors_of = fused_tensors},
                     .family = kGptNeoX,
                     .activation = Activation::gelu_erf,
                     .own_refusal = refusal_of_gptneox,
                     .read = read_gptneox,
                     .write = write_gptneox,
                     .has_own_head = true}};

}  // namespace

std::span<const GgufArchitecture> gguf_architectures() { return kArchitectures; }

}  // namespace headlight
