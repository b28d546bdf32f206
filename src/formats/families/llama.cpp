#include "formats/families/llama_layers.h"
#include "formats/gguf/gguf_rope.h"
#include "headlight/base/error.h"

// Llama (Touvron et al., arXiv 2302.13971) and families that differ in a few keys: Mistral
// (windows), Qwen 2 (biases of queries, keys and values) and Qwen 3 (norms of queries and keys).
namespace headlight {
namespace {

constexpr Index kDefaultWindow = 4096;

void llama(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(keys, config, {.null_keys = "num_key_value_heads head_dim attention_dropout"});
  attention_biases(keys, config);
  keys.biases("mlp_bias", {&config.mlp_bias}, false);
  require(!keys.writes() || config.n_embd % config.n_head == 0,
          "transformers needs an n_head that divides n_embd");
}

void mistral(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(keys, config,
               {.block = Index{1} << 17, .key_heads = 8, .inner = 14336, .null_keys = "head_dim"});
  const Index window = window_key(keys, config, kDefaultWindow, 0);
  if (!keys.writes()) {  // Ministral's; transformers 4 does not read them
    layer_types(keys, config, window, [](Index) { return true; });
  }
}

void qwen_windows(const ConfigKeys& keys, GptConfig& config) {
  const Index whole_layers = keys.unwritten_size("max_window_layers", 28, 0);
  optional_windows(keys, config, kDefaultWindow,
                   [&](Index layer) { return layer >= whole_layers; });
}

void qwen2(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(keys, config,
               {.vocabulary = 151936, .block = 32768, .key_heads = 32, .inner = 22016});
  qwen_windows(keys, config);
  config.qkv_bias = true;
}

void qwen3(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(
      keys, config,
      {.vocabulary = 151936, .block = 32768, .key_heads = 32, .head_width = 128, .inner = 22016});
  attention_biases(keys, config);
  qwen_windows(keys, config);
  config.qk_norm = true;
}

void llama_gguf(GgufKeys& keys, GptConfig& config) {
  gguf_plain_layers(keys, config);
  gguf_rope_factors(keys, config);
}

void qwen2_gguf(GgufKeys& keys, GptConfig& config) {
  keys.only(config.head_width, config.n_embd / config.n_head);
  gguf_plain_layers(keys, config);
}

void qwen3_gguf(GgufKeys& keys, GptConfig& config) {
  without_attention_biases(keys, config);
  gguf_plain_layers(keys, config);
  config.qk_norm = true;
}

}  // namespace

std::span<const ModelFamily> llama_families() {
  static const ModelFamily families[] = {
      {.type = "llama",
       .architecture = "LlamaForCausalLM",
       .layout = llama_layout(),
       .keys = llama,
       .gguf = {{.name = "llama",
                 .layout = {.head = kGgufHead,
                            .buffers = {kGgufRopeFactors},
                            .tensors_of = gguf_interleaved},
                 .keys = llama_gguf}}},
      {.type = "mistral",
       .architecture = "MistralForCausalLM",
       .layout = llama_layout(),
       .keys = mistral},
      {.type = "qwen2",
       .architecture = "Qwen2ForCausalLM",
       .layout = llama_layout(),
       .keys = qwen2,
       .gguf = {{.name = "qwen2", .layout = gguf_layout(), .keys = qwen2_gguf}}},
      {.type = "qwen3",
       .architecture = "Qwen3ForCausalLM",
       .layout = llama_layout(),
       .keys = qwen3,
       .gguf = {{.name = "qwen3", .layout = gguf_layout(), .keys = qwen3_gguf}}}};
  return families;
}

}  // namespace headlight
