#include <algorithm>
#include <cmath>

#include "formats/families/llama_layers.h"
#include "headlight/base/error.h"

// Gemma 1, 2 and 3 (Gemma Team, arXiv 2403.08295, 2408.00118 and 2503.19786): Llama's layers with
// gains of 1 + w and scaled embeddings. Gemma 2 also has norms of the outputs of attention and MLP,
// windows in every second layer, and soft caps of scores and logits; VaultGemma (arXiv 2510.15001)
// lacks these norms. The text models of Gemma 3 have norms of queries and keys instead of caps, and
// a smaller rotary base in layers with a window.
namespace headlight {
namespace {

constexpr double kLocalTheta = 1e4;

void gemma_layers(const ConfigKeys& keys, GptConfig& config, const LlamaDefaults& defaults) {
  llama_layers(keys, config, defaults);
  attention_biases(keys, config);
  config.norm_gain_plus_one = true;
  config.embedding_scale = std::sqrt(static_cast<double>(config.n_embd));
}

void gemma(const ConfigKeys& keys, GptConfig& config) {
  gemma_layers(keys, config,
               {.vocabulary = 256000,
                .block = 8192,
                .width = 3072,
                .layers = 28,
                .heads = 16,
                .key_heads = 16,
                .head_width = 256,
                .inner = 24576,
                .activation = "gelu_pytorch_tanh",
                .tied = true,
                .null_keys = ""});
  if (config.activation == Activation::gelu_erf) {
    config.activation = Activation::gelu_tanh;  // as in transformers: the first files say "gelu"
  }
  keys.or_null().unwritten("use_bidirectional_attention", false);
  keys.ignored({"hidden_activation"});  // by transformers, too
}

// Reads or writes query_pre_attn_scalar, 1 / scale^2.
void query_scalar(const ConfigKeys& keys, GptConfig& config) {
  double scalar = 1 / (config.attention_scale * config.attention_scale);
  const double whole = std::round(scalar);
  if (keys.writes() && std::abs(scalar - whole) < 1e-9 * scalar) {
    keys.unread("query_pre_attn_scalar", static_cast<Index>(whole));
    return;
  }
  keys.positive("query_pre_attn_scalar", scalar, 256);
  config.attention_scale = 1 / std::sqrt(scalar);
}

constexpr LlamaDefaults kGemma2Defaults{.vocabulary = 256000,
                                        .block = 8192,
                                        .width = 2304,
                                        .layers = 26,
                                        .heads = 8,
                                        .key_heads = 4,
                                        .head_width = 256,
                                        .inner = 9216,
                                        .tied = true,
                                        .null_keys = "attention_dropout"};

void vaultgemma(const ConfigKeys& keys, GptConfig& config) {
  gemma_layers(keys, config, kGemma2Defaults);
  keys.activation("hidden_activation", config.activation, "gelu_pytorch_tanh");
  query_scalar(keys, config);
  keys.or_null().positive("attn_logit_softcapping", config.attention_cap, 50);
  keys.or_null().positive("final_logit_softcapping", config.logit_cap, 30);
  patterned_windows(keys, config, 2);
  keys.or_null().unwritten("use_bidirectional_attention", false);
}

void gemma2(const ConfigKeys& keys, GptConfig& config) {
  vaultgemma(keys, config);
  config.output_norms = true;
}

// Returns the distance of the layers without a window, if it is the same everywhere, else 0.
Index window_pattern(const GptConfig& config) {
  if (common_window(config) == 0) {
    return 1;
  }
  const auto whole = std::ranges::find(config.windows, 0);
  const Index pattern =
      whole == config.windows.end() ? config.n_layer + 1 : whole - config.windows.begin() + 1;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    if (has_window(config, layer) != ((layer + 1) % pattern != 0)) {
      return 0;
    }
  }
  return pattern;
}

// Reads or writes sliding_window_pattern, for files and programs without layer_types.
Index gemma3_pattern(const ConfigKeys& keys, const GptConfig& config) {
  constexpr const char* kKey = "sliding_window_pattern";
  if (keys.writes()) {
    const Index pattern = window_pattern(config);
    if (pattern > 0) {
      keys.unread(kKey, pattern);
    }
    return pattern;
  }
  const bool has_types = keys.reader()->find("layer_types") != nullptr;
  return (has_types ? keys.or_null() : keys).unwritten_size(kKey, 6);
}

void gemma3(const ConfigKeys& keys, GptConfig& config) {
  double local_theta = config.rope_local_theta > 0 ? config.rope_local_theta : kLocalTheta;
  keys.number("rope_local_base_freq", local_theta, kLocalTheta);
  LlamaDefaults defaults = kGemma2Defaults;
  defaults.vocabulary = 262208;
  defaults.block = Index{1} << 17;
  defaults.theta = 1e6;
  defaults.local_theta = local_theta;
  gemma_layers(keys, config, defaults);
  keys.activation("hidden_activation", config.activation, "gelu_pytorch_tanh");
  query_scalar(keys, config);
  patterned_windows(keys, config, gemma3_pattern(keys, config));
  keys.or_null().unwritten("use_bidirectional_attention", false);
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    keys.unread(key, nullptr);
    require_value(keys.writes() || keys.reader()->find(key) == nullptr, key,
                  "only null is supported");
  }
  config.output_norms = true;
  config.qk_norm = true;
}

// What all versions share in llama.cpp.
void gemma_gguf_layers(GgufKeys& keys, GptConfig& config) {
  without_attention_biases(keys, config);
  gguf_rms_layers(keys, config);
  require_whole_heads(keys, config);
  config.embedding_scale = std::sqrt(static_cast<double>(config.n_embd));
  config.norm_gain_plus_one = true;
  config.activation = Activation::gelu_tanh;
}

void gemma_gguf(GgufKeys& keys, GptConfig& config) {
  keys.only(config.tie_weights, true);
  gemma_gguf_layers(keys, config);
}

// Returns the scale of attention scores. llama.cpp scales the 27B models, which it knows by their
// number of layers, as for another head width.
double gemma_scale(const GptConfig& config, Index layers_of_27b) {
  const Index width =
      config.n_layer == layers_of_27b ? config.n_embd / config.n_head : config.elements_of_head();
  return 1 / std::sqrt(static_cast<double>(width));
}

void gemma2_gguf(GgufKeys& keys, GptConfig& config) {
  gemma_gguf(keys, config);
  gguf_windows(keys, config, {.window = kPatternedWindow, .pattern = 2});
  keys.positive("attn_logit_softcapping", config.attention_cap, 50);
  keys.positive("final_logit_softcapping", config.logit_cap, 30);
  config.output_norms = true;
  config.attention_scale = gemma_scale(config, 46);
}

void gemma3_gguf(GgufKeys& keys, GptConfig& config) {
  gemma_gguf_layers(keys, config);
  gguf_windows(keys, config, {.pattern = 6});
  if (!keys.writes() || (common_window(config) > 0 && config.rope_local_theta != kLocalTheta)) {
    keys.number("rope.freq_base_swa", config.rope_local_theta, kLocalTheta);
  }
  config.output_norms = true;
  config.qk_norm = true;
  config.attention_scale = gemma_scale(config, 62);
}

// Stores gains as the factors 1 + w.
std::vector<StoredTensor> gemma_gguf_tensors(const Weight& weight, const GptConfig& config) {
  std::vector<StoredTensor> tensors = gguf_split(weight, config);
  tensors[0].shift = tensors[0].name.ends_with("_norm.weight") ? 1 : 0;
  return tensors;
}

}  // namespace

std::span<const ModelFamily> gemma_families() {
  static const ModelFamily families[] = {
      {.type = "gemma3_text",
       .architecture = "Gemma3ForCausalLM",
       .layout = llama_layout(output_norm_tensors),
       .keys = gemma3,
       .gguf = {{.name = "gemma3",
                 .layout = gguf_layout(gemma_gguf_tensors),
                 .keys = gemma3_gguf}}},
      {.type = "gemma2",
       .architecture = "Gemma2ForCausalLM",
       .layout = llama_layout(output_norm_tensors),
       .keys = gemma2,
       .gguf = {{.name = "gemma2",
                 .layout = gguf_layout(gemma_gguf_tensors),
                 .keys = gemma2_gguf}}},
      {.type = "gemma",
       .architecture = "GemmaForCausalLM",
       .layout = llama_layout(),
       .keys = gemma,
       .gguf = {{.name = "gemma", .layout = gguf_layout(gemma_gguf_tensors), .keys = gemma_gguf}}},
      {.type = "vaultgemma",
       .architecture = "VaultGemmaForCausalLM",
       .layout = llama_layout(output_norm_tensors),
       .keys = vaultgemma}};
  return families;
}

}  // namespace headlight
