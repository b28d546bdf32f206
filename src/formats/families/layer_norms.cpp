#include "formats/families/llama_layers.h"
#include "formats/gguf/gguf_rope.h"
#include "headlight/base/error.h"

// Families with Llama's layers and layer norms. StableLM (Bellagente et al., arXiv 2402.17834) has
// rotary positions on a quarter of each head; StarCoder 2 (Lozhkov et al., arXiv 2402.19173) has
// biases, and MLPs without a gate.
namespace headlight {
namespace {

void stablelm(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(keys, config,
               {.vocabulary = 50304,
                .block = 4096,
                .width = 2560,
                .key_heads = 32,
                .inner = 6912,
                .epsilon = 1e-5,
                .share = 0.25,
                .epsilon_key = "layer_norm_eps",
                .null_keys = "head_dim"});
  keys.biases("use_qkv_bias", {&config.qkv_bias}, false);
  keys.boolean("use_parallel_residual", config.parallel_residual, false);
  keys.constant("qk_layernorm", false);
  require_heads_of_model_width(config);
  require_value(keys.writes() || keys.reader()->number("hidden_dropout", 0) == 0, "hidden_dropout",
                "only 0 is supported");
  config.norm_type = NormKind::layer;
  config.bias = true;  // of the norms
  config.attention_output_bias = false;
  config.mlp_bias = false;
  config.shared_norm = config.parallel_residual;
}

void starcoder2(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(keys, config,
               {.vocabulary = 49152,
                .block = 4096,
                .width = 3072,
                .layers = 30,
                .heads = 24,
                .key_heads = 2,
                .inner = 12288,
                .epsilon = 1e-5,
                .activation = "gelu_pytorch_tanh",
                .tied = true,
                .epsilon_key = "norm_epsilon",
                .null_keys = "head_dim"});
  keys.biases("use_bias", {&config.qkv_bias, &config.attention_output_bias, &config.mlp_bias},
              true);
  equal_windows(keys, config);
  keys.number("residual_dropout", config.residual_dropout, config.residual_dropout);
  keys.number("embedding_dropout", config.embedding_dropout, config.embedding_dropout);
  config.norm_type = NormKind::layer;
  config.gated_mlp = false;
  config.bias = true;  // of the norms
}

std::vector<StoredTensor> starcoder2_tensors(const Weight& weight, const GptConfig& config) {
  constexpr PartNames kNames[] = {{Part::mlp_in, "mlp.c_fc"}, {Part::mlp_out, "mlp.c_proj"}};
  return renamed_llama_tensors(weight, config, kNames);
}

void starcoder2_gguf(GgufKeys& keys, GptConfig& config) {
  gguf_layer_norms(keys, config);
  config.activation = Activation::gelu_tanh;
  config.position = PositionKind::rope;
  gguf_rope(keys, config);
  require_whole_heads(keys, config);
}

}  // namespace

std::span<const ModelFamily> layer_norm_families() {
  static const ModelFamily families[] = {
      {.type = "stablelm",
       .architecture = "StableLmForCausalLM",
       .layout = llama_layout(),
       .keys = stablelm},
      {.type = "starcoder2",
       .architecture = "Starcoder2ForCausalLM",
       .layout = llama_layout(starcoder2_tensors),
       .keys = starcoder2,
       .gguf = {{.name = "starcoder2", .layout = gguf_layout(), .keys = starcoder2_gguf}}}};
  return families;
}

}  // namespace headlight
