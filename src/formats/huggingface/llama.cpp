#include <algorithm>

#include "formats/huggingface/families.h"
#include "formats/huggingface/rope_config.h"
#include "headlight/base/error.h"

// Llama (Touvron et al., arXiv 2302.13971) and families that differ in a few keys: Mistral
// (windows), Qwen 2 (biases of queries, keys and values) and Qwen 3 (norms of queries and keys).
namespace headlight {
namespace {

constexpr Index kUsualWindow = 4096;

// Default sizes of transformers for keys that a config.json lacks.
struct UsualSizes {
  Index vocabulary = 32000;
  Index block = 2048;
  Index inner = 11008;
  Index key_heads = 0;   // 0: the number of heads, as for null
  Index head_width = 0;  // 0: n_embd / n_head
};

GptConfig read_layers(const ConfigReader& reader, const UsualSizes& usual) {
  GptConfig config;
  config.vocab_size = reader.size("vocab_size", usual.vocabulary);
  config.block_size = reader.size("max_position_embeddings", usual.block);
  config.n_embd = reader.size("hidden_size", 4096);
  config.n_layer = reader.size("num_hidden_layers", 32, 1, kMostLayers);
  config.n_head = reader.size("num_attention_heads", 32);
  const char* const key_heads = "num_key_value_heads";
  config.n_kv_head = reader.size(key_heads, reader.is_null(key_heads) ? 0 : usual.key_heads);
  config.n_inner = reader.size("intermediate_size", usual.inner);
  config.head_width = reader.size("head_dim", usual.head_width);
  config.bias = false;
  config.tie_weights = reader.boolean("tie_word_embeddings", false);
  config.attention_dropout = reader.number("attention_dropout", 0);
  config.residual_dropout = reader.number("headlight_residual_dropout", 0);
  config.embedding_dropout = reader.number("headlight_embedding_dropout", 0);
  config.norm_type = NormKind::rms;
  config.layer_norm_epsilon = reader.number("rms_norm_eps", 1e-6);
  config.gated_mlp = true;
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.position = PositionKind::rope;
  config.rope = read_rope(reader, block_plan(config, 0).attention.head_width,
                          {.block_size = config.block_size});
  require_value(config.rope.width == 0, reader.asked().key_of("rotary_pct"), "only 1 is supported");
  return config;
}

GptConfig read_llama(const ConfigReader& reader) {
  GptConfig config = read_layers(reader, {});
  config.qkv_bias = reader.boolean("attention_bias", false);
  config.attention_output_bias = config.qkv_bias;
  config.mlp_bias = reader.boolean("mlp_bias", false);
  return config;
}

GptConfig read_mistral(const ConfigReader& reader) {
  GptConfig config = read_layers(reader, {.block = Index{1} << 17, .inner = 14336, .key_heads = 8});
  config.windows.assign(static_cast<std::size_t>(config.n_layer),
                        read_window(reader, kUsualWindow));
  return config;
}

std::vector<Index> read_qwen_windows(const ConfigReader& reader, Index layers) {
  const bool has_windows = reader.boolean("use_sliding_window", false);
  const Index said = read_window(reader, kUsualWindow);  // present even if windows are off
  const Index window = has_windows ? said : 0;
  const Index whole_layers = reader.size("max_window_layers", 28, 0);
  std::vector<bool> sliding;
  for (Index layer = 0; layer < layers; ++layer) {
    sliding.push_back(window > 0 && layer >= whole_layers);
  }
  return layer_windows(reader, sliding, window);
}

GptConfig read_qwen2(const ConfigReader& reader) {
  GptConfig config =
      read_layers(reader, {.vocabulary = 151936, .block = 32768, .inner = 22016, .key_heads = 32});
  config.qkv_bias = true;
  config.windows = read_qwen_windows(reader, config.n_layer);
  return config;
}

GptConfig read_qwen3(const ConfigReader& reader) {
  GptConfig config = read_layers(
      reader,
      {.vocabulary = 151936, .block = 32768, .inner = 22016, .key_heads = 32, .head_width = 128});
  config.qkv_bias = reader.boolean("attention_bias", false);
  config.attention_output_bias = config.qkv_bias;
  config.qk_norm = true;
  config.windows = read_qwen_windows(reader, config.n_layer);
  return config;
}

// Returns the reason if none of these families can express the layers; "" otherwise.
std::string refusal_of_layers(const GptConfig& config) {
  const bool has_norms = config.norm == NormPosition::pre && config.norm_type == NormKind::rms &&
                         !config.norm_gain_plus_one && !config.output_norms;
  const bool has_rope = config.position == PositionKind::rope && config.rope.width == 0 &&
                        config.rope.style == RotaryStyle::half && config.rope_local_theta == 0;
  const bool has_mlp = config.mlp && config.gated_mlp && !config.parallel_residual;
  const bool has_heads =
      config.heads_per_layer.empty() && config.head_numbers.empty() && config.attention_scale == 0;
  return first_refusal(
      {{!has_norms,
        "these norms cannot be expressed: Llama has RMS norms before attention and MLP"},
       {!has_rope,
        "these positions cannot be expressed: Llama rotates whole heads, in the same way in all "
        "layers"},
       {!has_mlp, "this MLP cannot be expressed: Llama's have a gate and follow attention"},
       {config.embedding_scale > 0, "embedding_scale cannot be expressed: Llama has none"},
       {!has_heads,
        "these heads cannot be expressed: Llama has the same number in every layer, and no "
        "attention_scale"}});
}

// True if biases are exactly on queries, keys and values (`qkv`) or nowhere.
bool has_biases(const GptConfig& config, bool qkv) {
  const BlockPlan plan = block_plan(config, 0);
  return plan.qkv_bias == qkv && !plan.attention_output_bias && !plan.mlp_bias;
}

constexpr const char* kOtherBiases = "biases of these layers cannot be expressed together";
constexpr const char* kOtherWindows = "windows cannot be expressed";
constexpr const char* kQkNorm = "qk_norm cannot be expressed";

std::string refusal_of_llama(const GptConfig& config) {
  const BlockPlan plan = block_plan(config, 0);
  return first_refusal({{config.qk_norm, kQkNorm},
                        {!config.windows.empty(), kOtherWindows},
                        {plan.qkv_bias != plan.attention_output_bias, kOtherBiases},
                        {true, refusal_of_layers(config)}});
}

std::string refusal_of_mistral(const GptConfig& config) {
  const bool has_window = common_window(config) > 0 && std::ranges::count(config.windows, 0) == 0;
  return first_refusal({{config.qk_norm, kQkNorm},
                        {!has_window, kOtherWindows},
                        {!has_biases(config, false), kOtherBiases},
                        {true, refusal_of_layers(config)}});
}

bool has_qwen_windows(const GptConfig& config) {
  return config.windows.empty() || common_window(config) > 0;
}

std::string refusal_of_qwen2(const GptConfig& config) {
  return first_refusal({{config.qk_norm, kQkNorm},
                        {!has_qwen_windows(config), kOtherWindows},
                        {!has_biases(config, true), kOtherBiases},
                        {true, refusal_of_layers(config)}});
}

std::string refusal_of_qwen3(const GptConfig& config) {
  const BlockPlan plan = block_plan(config, 0);
  return first_refusal(
      {{!config.qk_norm, "queries and keys without norms cannot be expressed"},
       {!has_qwen_windows(config), kOtherWindows},
       {plan.qkv_bias != plan.attention_output_bias || plan.mlp_bias, kOtherBiases},
       {true, refusal_of_layers(config)}});
}

Json layers_json(const GptConfig& config, const char* type, const char* architecture) {
  const AttentionPlan plan = block_plan(config, 0).attention;
  const Json rope = rope_parameters_json(config.rope, plan.head_width);
  Json json{{"architectures", Json::array({architecture})},
            {"model_type", type},
            {"max_position_embeddings", config.block_size},
            {"hidden_size", config.n_embd},
            {"num_hidden_layers", config.n_layer},
            {"num_attention_heads", config.n_head},
            {"num_key_value_heads", plan.key_heads},
            {"head_dim", plan.head_width},
            {"intermediate_size", *block_plan(config, 0).mlp_width},
            {"hidden_act", name_of(config.activation)},
            {"rms_norm_eps", config.layer_norm_epsilon},
            {"attention_dropout", config.attention_dropout},
            {"rope_theta", config.rope.theta},
            {"rope_scaling", config.rope.scaling == RopeScaling::none ? Json() : rope},
            {"rope_parameters", rope}};
  if (config.residual_dropout > 0 || config.embedding_dropout > 0) {
    json["headlight_residual_dropout"] = config.residual_dropout;
    json["headlight_embedding_dropout"] = config.embedding_dropout;
  }
  return json;
}

void add_windows(const GptConfig& config, Json& json) {
  json["use_sliding_window"] = !config.windows.empty();
  json["sliding_window"] = config.windows.empty() ? Json() : Json(common_window(config));
  json["layer_types"] = layer_types_json(config);
}

Json llama_json(const GptConfig& config) {
  Json json = layers_json(config, "llama", "LlamaForCausalLM");
  json["attention_bias"] = block_plan(config, 0).qkv_bias;
  json["mlp_bias"] = block_plan(config, 0).mlp_bias;
  return json;
}

Json mistral_json(const GptConfig& config) {
  Json json = layers_json(config, "mistral", "MistralForCausalLM");
  json["sliding_window"] = common_window(config);
  return json;
}

Json qwen2_json(const GptConfig& config) {
  Json json = layers_json(config, "qwen2", "Qwen2ForCausalLM");
  add_windows(config, json);
  return json;
}

Json qwen3_json(const GptConfig& config) {
  Json json = layers_json(config, "qwen3", "Qwen3ForCausalLM");
  json["attention_bias"] = block_plan(config, 0).qkv_bias;
  add_windows(config, json);
  return json;
}

constexpr Choice<Part> kLlamaNames[] = {
    {"embed_tokens", Part::token_embedding},
    {"norm", Part::final_norm},
    {"lm_head", Part::head},
    {"input_layernorm", Part::attention_norm},
    {"self_attn.q_proj self_attn.k_proj self_attn.v_proj", Part::query_key_value},
    {"self_attn.o_proj", Part::attention_output},
    {"self_attn.q_norm", Part::query_norm},
    {"self_attn.k_norm", Part::key_norm},
    {"post_attention_layernorm", Part::mlp_norm},
    {"mlp.gate_proj", Part::mlp_gate},
    {"mlp.up_proj", Part::mlp_in},
    {"mlp.down_proj", Part::mlp_out}};

}  // namespace

std::vector<StoredTensor> llama_tensors(const Weight& weight, const GptConfig& config) {
  return named_tensors(weight, config, "layers.", kLlamaNames);
}

const WeightLayout kLlamaLayout{.prefix = "model.",
                                .head = "lm_head.weight",
                                .buffers = {"rotary_emb.inv_freq"},
                                .layers = "layers.",
                                .tensors_of = llama_tensors};

const ModelFamily kLlama{.type = "llama",
                         .layout = kLlamaLayout,
                         .read_config = read_llama,
                         .refusal = refusal_of_llama,
                         .config_json = llama_json};

const ModelFamily kMistral{.type = "mistral",
                           .layout = kLlamaLayout,
                           .read_config = read_mistral,
                           .refusal = refusal_of_mistral,
                           .config_json = mistral_json};

const ModelFamily kQwen2{.type = "qwen2",
                         .layout = kLlamaLayout,
                         .read_config = read_qwen2,
                         .refusal = refusal_of_qwen2,
                         .config_json = qwen2_json};

const ModelFamily kQwen3{.type = "qwen3",
                         .layout = kLlamaLayout,
                         .read_config = read_qwen3,
                         .refusal = refusal_of_qwen3,
                         .config_json = qwen3_json};

}  // namespace headlight
