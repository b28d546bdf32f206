#include <algorithm>
#include <string>

#include "formats/families/llama_layers.h"
#include "headlight/base/error.h"

// OLMo 1, 2 and 3 (Groeneveld et al., arXiv 2402.00838; OLMo team, arXiv 2501.00656 and
// 2512.13961) and EXAONE 4 (LG AI Research, arXiv 2507.11407): Llama's layers. OLMo 1 has layer
// norms without weights. The others normalise the outputs of attention and MLP, and queries and
// keys: OLMo over all heads, EXAONE head by head. OLMo 3 and EXAONE 4 also have windows; in
// EXAONE's models with windows, the layers without one do not rotate queries and keys.
namespace headlight {
namespace {

constexpr double kOlmoEpsilon = 1e-5;  // not a key of OLMo 1

// Shortens rope_scaling to the two keys that transformers 4 accepts, for linear and dynamic only.
void shorten_scaling(const ConfigKeys& keys, const GptConfig& config) {
  const RopeScaling scaling = config.rope.scaling;
  if (scaling == RopeScaling::linear || scaling == RopeScaling::dynamic) {
    keys.unread("rope_scaling", {{"type", name_of(scaling)}, {"factor", config.rope.factor}});
  }
}

void olmo(const ConfigKeys& keys, GptConfig& config) {
  // Readers get layer_norm_epsilon; transformers ignores it.
  llama_layers(keys, config,
               {.vocabulary = 50304,
                .epsilon = kOlmoEpsilon,
                .epsilon_key = keys.writes() ? "layer_norm_epsilon" : "rms_norm_eps"});
  keys.ignored({"layer_norm_epsilon"});
  attention_biases(keys, config);
  shorten_scaling(keys, config);
  keys.or_null().positive("clip_qkv", config.qkv_clip, 0);
  config.layer_norm_epsilon = kOlmoEpsilon;
  config.norm_type = NormKind::layer;
  config.norm_weights = false;
}

void output_norms(GptConfig& config) {
  config.norm = NormPosition::output;
  config.qk_norm = true;
}

void olmo2(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(keys, config, {.vocabulary = 50304, .epsilon = 1e-5});
  attention_biases(keys, config);
  shorten_scaling(keys, config);
  output_norms(config);
  config.qk_norm_whole = true;
}

void olmo3(const ConfigKeys& keys, GptConfig& config) {
  constexpr double kTheta = 500000;
  llama_layers(keys, config,
               {.vocabulary = 50304, .epsilon = 1e-5, .theta = kTheta, .local_theta = kTheta});
  attention_biases(keys, config);
  patterned_windows(keys, config, 4);
  output_norms(config);
  config.qk_norm_whole = true;
}

// Writes a letter for each layer, L with a window and G without, which mlx-lm reads; null for a
// model without windows. Reads the distance of layers without a window.
Index exaone_pattern(const ConfigKeys& keys, const GptConfig& config, bool has_windows) {
  constexpr const char* kKey = "sliding_window_pattern";
  std::string letters;
  for (Index layer = 0; keys.writes() && layer < config.n_layer; ++layer) {
    letters += has_window(config, layer) ? 'L' : 'G';
  }
  keys.unread(kKey, has_windows ? Json(letters) : Json());
  keys.ignored({kKey});  // may be a text, which layer_types repeats
  const bool has_types = !keys.writes() && keys.reader()->find("layer_types") != nullptr;
  return has_types ? 1 : keys.unwritten_size(kKey, 4);
}

void exaone4(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(
      keys, config,
      {.vocabulary = 102400, .key_heads = 32, .inner = 16384, .epsilon = 1e-5, .null_keys = ""});
  output_norms(config);
  const bool rotates_everywhere = std::ranges::count(config.rope_per_layer, 0) == 0;
  const bool is_plain = keys.writes() ? rotates_everywhere && common_window(config) == 0
                                      : keys.reader()->is_null("sliding_window");
  const Index window =
      window_key(keys, config, kPatternedWindow, is_plain ? Json() : Json(kPatternedWindow));
  const Index pattern = exaone_pattern(keys, config, !is_plain);
  layer_types(keys, config, window, [&](Index layer) { return (layer + 1) % pattern != 0; });
  for (Index layer = 0; !is_plain && !keys.writes() && layer < config.n_layer; ++layer) {
    config.rope_per_layer.push_back(has_window(config, layer) ? 1 : 0);
  }
}

// OLMo 2, or OLMo 3 if there are windows.
void olmo2_gguf(GgufKeys& keys, GptConfig& config) {
  keys.only(config.head_width, config.n_embd / config.n_head);
  without_attention_biases(keys, config);
  gguf_rms_layers(keys, config);
  require_whole_heads(keys, config);
  gguf_windows(keys, config, {.pattern = 4});
  output_norms(config);
  config.qk_norm_whole = true;
  config.rope_local_theta = config.rope.theta;
}

void exaone4_gguf(GgufKeys& keys, GptConfig& config) {
  gguf_rms_layers(keys, config);
  require_whole_heads(keys, config);
  output_norms(config);
  const Index window = gguf_window(keys, config, kPatternedWindow);
  config.windows.clear();
  if (config.n_layer == 64) {  // llama.cpp takes it as a sign of windows
    config.windows = except_each(4, config.n_layer, window);
    config.rope_per_layer = except_each(4, config.n_layer, 1);
  }
}

}  // namespace

std::span<const ModelFamily> olmo_families() {
  static const ModelFamily families[] = {
      {.type = "olmo", .architecture = "OlmoForCausalLM", .layout = llama_layout(), .keys = olmo},
      {.type = "olmo2",
       .architecture = "Olmo2ForCausalLM",
       .layout = llama_layout(output_norm_tensors),
       .keys = olmo2},
      {.type = "olmo3",
       .architecture = "Olmo3ForCausalLM",
       .layout = llama_layout(output_norm_tensors),
       .keys = olmo3,
       .gguf =
           {{.name = "olmo2", .layout = gguf_layout(), .keys = olmo2_gguf, .has_own_head = true}}},
      {.type = "exaone4",
       .architecture = "Exaone4ForCausalLM",
       .layout = llama_layout(output_norm_tensors),
       .keys = exaone4,
       .gguf = {{.name = "exaone4", .layout = gguf_layout(), .keys = exaone4_gguf}}}};
  return families;
}

}  // namespace headlight
