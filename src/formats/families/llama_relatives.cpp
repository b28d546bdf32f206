#include "formats/families/llama_layers.h"
#include "headlight/base/error.h"

// Families with Llama's layers that differ in a few options: one function and one row each.
namespace headlight {
namespace {

// Granite 3 (IBM): four factors. residual_multiplier r scales what attention and MLP add to the
// residual stream. Headlight's residual stream is the one of transformers divided by r: with
// epsilon divided by r^2, the RMS norms that read it are the same. Hooks of users see the one of
// transformers: GptConfig::residual_multiplier.
void granite(const ConfigKeys& keys, GptConfig& config) {
  keys.positive("residual_multiplier", config.residual_multiplier, 1);
  const double residual = config.residual_multiplier;
  double embedding = config.embedding_scale * residual;
  double divisor = 1 / config.logit_scale;
  keys.positive("embedding_multiplier", embedding, 1);
  keys.positive("attention_multiplier", config.attention_scale, 1);
  keys.positive("logits_scaling", divisor, 1);
  // That of transformers, in writing.
  config.layer_norm_epsilon = config.layer_norm_epsilon * residual * residual;
  llama_layers(keys, config, {});
  attention_biases(keys, config);
  keys.biases("mlp_bias", {&config.mlp_bias}, false);
  config.embedding_scale = embedding / residual;
  config.layer_norm_epsilon /= residual * residual;
  config.logit_scale = 1 / divisor;
}

// Reads or writes 1 for each layer that rotates queries and keys, else 0.
void rotated_layers(const ConfigKeys& keys, GptConfig& config) {
  constexpr const char* kKey = "no_rope_layers";  // 1: with rotations, against the name
  const Index interval = keys.unwritten_size("no_rope_layer_interval", 4);
  if (keys.writes()) {
    keys.unread(kKey, config.rope_per_layer);
    return;
  }
  const Json::List given = keys.reader()->list(kKey, &Json::is_integer, "whole numbers");
  const bool is_given = keys.reader()->find(kKey) != nullptr;
  require_value(!is_given || std::ssize(given) == config.n_layer, kKey, "expected ", config.n_layer,
                " numbers, got ", given.size());
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    const bool is_rotated = !is_given ? (layer + 1) % interval != 0
                                      : given[static_cast<std::size_t>(layer)].integer() != 0;
    config.rope_per_layer.push_back(is_rotated ? 1 : 0);
  }
}

// SmolLM 3 (Hugging Face, 2025): every fourth layer has no rotary positions.
void smollm3(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(keys, config,
               {.vocabulary = 128256,
                .block = 32768,
                .width = 2048,
                .layers = 36,
                .heads = 16,
                .key_heads = 4,
                .tied = true,
                .theta = 2e6});
  attention_biases(keys, config);
  keys.biases("mlp_bias", {&config.mlp_bias}, false);
  rotated_layers(keys, config);
  optional_windows(keys, config, 0, [&](Index layer) { return !config.rotates(layer); });
  keys.unread("pad_token_id", nullptr);  // the default may be outside of the vocabulary
}

void smollm3_gguf(GgufKeys& keys, GptConfig& config) {
  gguf_plain_layers(keys, config);
  config.rope_per_layer = except_each(4, config.n_layer, 1);
}

// Arcee (2025): MLPs without a gate.
void arcee(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(keys, config,
               {.block = 4096,
                .width = 2560,
                .inner = 18432,
                .epsilon = 1e-5,
                .activation = "relu2",
                .null_keys = "num_key_value_heads head_dim"});
  attention_biases(keys, config);
  keys.biases("mlp_bias", {&config.mlp_bias}, false);
  config.gated_mlp = false;
}

// ERNIE 4.5 (Baidu, 2025): rotations of neighbouring elements.
void ernie(const ConfigKeys& keys, GptConfig& config) {
  constexpr const char* kNullKeys = "num_key_value_heads head_dim attention_dropout use_bias";
  llama_layers(keys, config,
               {.vocabulary = 103424,
                .block = Index{1} << 17,
                .width = 1024,
                .layers = 18,
                .heads = 16,
                .key_heads = 2,
                .head_width = 128,
                .inner = 3072,
                .epsilon = 1e-5,
                .tied = true,
                .theta = 5e5,
                .null_keys = kNullKeys});
  keys.or_null(kNullKeys).biases(
      "use_bias", {&config.qkv_bias, &config.attention_output_bias, &config.mlp_bias}, false);
  config.rope.style = RotaryStyle::interleaved;
}

// Helium (Kyutai, 2025): rotations of neighbouring elements.
void helium(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(keys, config,
               {.vocabulary = 48000,
                .block = 4096,
                .width = 2560,
                .layers = 24,
                .heads = 20,
                .key_heads = 20,
                .head_width = 128,
                .inner = 7040,
                .epsilon = 1e-8,
                .theta = 1e5,
                .null_keys = ""});
  require_heads_of_model_width(config);
  keys.biases("attention_bias", {&config.qkv_bias}, false);
  keys.biases("mlp_bias", {&config.mlp_bias}, false);
  config.attention_output_bias = false;
  config.rope.style = RotaryStyle::interleaved;
}

// Seed-OSS (ByteDance, 2025): biases of queries, keys and values apart from those of outputs.
void seed_oss(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(keys, config,
               {.vocabulary = 155136,
                .block = Index{1} << 19,
                .layers = 64,
                .heads = 80,
                .key_heads = 8,
                .head_width = 128,
                .inner = 27648,
                .null_keys = "num_key_value_heads head_dim"});
  keys.biases("attention_bias", {&config.qkv_bias}, true);
  keys.biases("attention_out_bias", {&config.attention_output_bias}, false);
  keys.biases("mlp_bias", {&config.mlp_bias}, false);
  keys.number("residual_dropout", config.residual_dropout, 0.1);
}

// nanochat (Karpathy, 2025): RMS norms without weights, also of the embeddings and, after the
// rotation, of queries and keys; MLPs without a gate; a soft cap of the logits.
void nanochat(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(keys, config,
               {.vocabulary = 50304,
                .width = 768,
                .layers = 12,
                .heads = 6,
                .inner = 8192,
                .activation = "relu2"});
  attention_biases(keys, config);
  keys.or_null().positive("final_logit_softcapping", config.logit_cap, 15);
  config.gated_mlp = false;
  config.norm_weights = false;
  config.embedding_norm = true;
  config.qk_norm = true;
  config.qk_norm_last = true;
  config.rope.reversed = true;
}

std::vector<StoredTensor> nanochat_tensors(const Weight& weight, const GptConfig& config) {
  constexpr PartNames kNames[] = {{Part::mlp_in, "mlp.fc1"}, {Part::mlp_out, "mlp.fc2"}};
  return renamed_llama_tensors(weight, config, kNames);
}

}  // namespace

std::span<const ModelFamily> llama_relatives() {
  static const ModelFamily families[] = {{.type = "granite",
                                          .architecture = "GraniteForCausalLM",
                                          .layout = llama_layout(),
                                          .keys = granite},
                                         {.type = "smollm3",
                                          .architecture = "SmolLM3ForCausalLM",
                                          .layout = llama_layout(),
                                          .keys = smollm3,
                                          .gguf = {{.name = "smollm3",
                                                    .layout = gguf_layout(gguf_interleaved),
                                                    .keys = smollm3_gguf}}},
                                         {.type = "arcee",
                                          .architecture = "ArceeForCausalLM",
                                          .layout = llama_layout(),
                                          .keys = arcee},
                                         {.type = "ernie4_5",
                                          .architecture = "Ernie4_5ForCausalLM",
                                          .layout = llama_layout(),
                                          .keys = ernie},
                                         {.type = "helium",
                                          .architecture = "HeliumForCausalLM",
                                          .layout = llama_layout(),
                                          .keys = helium},
                                         {.type = "seed_oss",
                                          .architecture = "SeedOssForCausalLM",
                                          .layout = llama_layout(),
                                          .keys = seed_oss},
                                         {.type = "nanochat",
                                          .architecture = "NanoChatForCausalLM",
                                          .layout = llama_layout(nanochat_tensors),
                                          .keys = nanochat}};
  return families;
}

}  // namespace headlight
