#include <algorithm>
#include <array>

#include "formats/huggingface/families.h"
#include "headlight/base/error.h"

// GPT-2 (Radford et al. 2019), whose tensor names Gpt::parameters() uses. Models that GPT-2 cannot
// express get the type "headlight", so that other tools refuse them instead of misreading them.
namespace headlight {

Activation read_activation(const ConfigReader& reader, const char* key, const char* usual) {
  const std::string text = reader.text(key, usual);
  // Other names in transformers for the same functions.
  constexpr std::array kOthers =
      std::to_array<Choice<Activation>>({{"gelu_pytorch_tanh", Activation::gelu_tanh},
                                         {"gelu_fast", Activation::gelu_tanh},
                                         {"gelu_accurate", Activation::gelu_tanh},
                                         {"gelu_python_tanh", Activation::gelu_tanh},
                                         {"gelu_python", Activation::gelu_erf},
                                         {"swish", Activation::silu}});
  const auto* other = std::find_if(kOthers.begin(), kOthers.end(),
                                   [&](const auto& choice) { return choice.name == text; });
  if (other != kOthers.end()) {
    return other->value;
  }
  std::vector<std::string_view> names(kChoiceNames<Activation>.begin(),
                                      kChoiceNames<Activation>.end());
  if (std::find(names.begin(), names.end(), text) == names.end()) {
    names.insert(names.begin() + 1, "gelu_pytorch_tanh");
    fail_choice(key, names, text);
  }
  return parse_name<Activation>(key, text);
}

namespace {

GptConfig read_gpt2(const ConfigReader& reader) {
  GptConfig config;
  config.vocab_size = reader.size("vocab_size", 50257);
  config.block_size = reader.size("n_positions", reader.size("n_ctx", 1024));
  config.n_embd = reader.size("n_embd", 768);
  config.n_layer = read_layer_count(reader, "n_layer", 12);
  config.n_head = reader.size("n_head", 12);
  const Index inner = reader.size("n_inner", 4 * config.n_embd);
  config.n_inner = inner == 4 * config.n_embd ? 0 : inner;
  config.attention_dropout = reader.number("attn_pdrop", 0.1);
  config.residual_dropout = reader.number("resid_pdrop", 0.1);
  config.embedding_dropout = reader.number("embd_pdrop", 0.1);
  config.layer_norm_epsilon = reader.number("layer_norm_epsilon", 1e-5);
  config.tie_weights = reader.boolean("tie_word_embeddings", true);
  config.bias = reader.boolean("headlight_bias", true);
  config.activation = read_activation(reader, "activation_function", "gelu_new");
  reader.require_default("scale_attn_weights", true);
  reader.require_default("scale_attn_by_inverse_layer_idx", false);
  reader.require_default("add_cross_attention", false);
  return config;
}

std::vector<std::vector<Index>> read_lists(const ConfigReader& reader, const char* key) {
  std::vector<std::vector<Index>> numbers;
  const Json* layers = reader.find(key);
  require_value(layers == nullptr || layers->is_array(), key, "expected a list of lists");
  for (std::size_t layer = 0; layers != nullptr && layer < layers->size(); ++layer) {
    require_value((*layers)[layer].is_array(), key, "expected a list of lists");
    numbers.emplace_back();
    for (const Json& number : (*layers)[layer]) {
      require_value(number.is_integer(), key, "expected whole numbers");
      numbers.back().push_back(number.integer());
    }
  }
  return numbers;
}

// Reads the keys that headlight_config_json() writes.
RopeOptions read_rope(const ConfigReader& reader) {
  const RopeOptions usual;
  return {.theta = reader.number("rope_theta", usual.theta),
          .width = reader.size("rope_width", usual.width, 0),
          .style = parse_name<RotaryStyle>("rope_style", reader.text("rope_style", "half")),
          .scaling = parse_name<RopeScaling>("rope_scaling", reader.text("rope_scaling", "none")),
          .factor = reader.number("rope_factor", usual.factor),
          .low_freq_factor = reader.number("rope_low_freq_factor", usual.low_freq_factor),
          .high_freq_factor = reader.number("rope_high_freq_factor", usual.high_freq_factor),
          .original_max_position_embeddings =
              reader.size("rope_original_block_size", usual.original_max_position_embeddings)};
}

GptConfig read_headlight_config(const ConfigReader& reader) {
  GptConfig config = read_gpt2(reader);
  config.norm = parse_name<NormPosition>("norm", reader.text("norm", "pre"));
  config.norm_type = parse_name<NormKind>("norm_type", reader.text("norm_type", "layer"));
  config.norm_gain_plus_one = reader.boolean("norm_gain_plus_one", false);
  config.output_norms = reader.boolean("output_norms", false);
  config.embedding_scale = reader.number("embedding_scale", 0);
  config.qk_norm = reader.boolean("qk_norm", false);
  config.gated_mlp = reader.boolean("gated_mlp", false);
  config.rope = read_rope(reader);
  config.rope_local_theta = reader.number("rope_local_theta", 0);
  config.head_width = reader.size("head_width", 0, 0);
  config.mlp = reader.boolean("mlp", true);
  config.position = parse_name<PositionKind>("position", reader.text("position", "learned"));
  config.parallel_residual = reader.boolean("parallel_residual", false);
  config.shared_norm = reader.boolean("shared_norm", false);
  config.qkv_bias = reader.boolean("qkv_bias");
  config.attention_output_bias = reader.boolean("attention_output_bias");
  config.mlp_bias = reader.boolean("mlp_bias");
  config.n_kv_head = reader.size("n_kv_head", 0, 0);
  config.attention_scale = reader.number("attention_scale", 0);
  config.heads_per_layer = reader.integers("heads_per_layer");
  config.windows = reader.integers("windows");
  config.head_numbers = read_lists(reader, "head_numbers");
  config.key_head_numbers = read_lists(reader, "key_head_numbers");
  config.key_groups = read_lists(reader, "key_groups");
  return config;
}

std::string refusal_of_gpt2(const GptConfig& config) {
  const bool has_norms = config.norm_type == NormKind::layer && !config.norm_gain_plus_one &&
                         !config.output_norms && !config.qk_norm;
  const bool has_heads = config.heads_per_layer.empty() && config.head_width == 0 &&
                         config.head_numbers.empty() && config.n_kv_head == 0 &&
                         config.key_groups.empty();
  return first_refusal(
      {{config.norm == NormPosition::post,
        "norm = post cannot be expressed: GPT-2 has its norms before attention and MLP"},
       {!config.mlp, "layers without an MLP cannot be expressed: GPT-2 has one in every layer"},
       {config.position != PositionKind::learned,
        concat_text("position = ", name_of(config.position),
                    " cannot be expressed: GPT-2 has learned positions")},
       {!has_norms,
        "these norms cannot be expressed: GPT-2 has layer norms before attention and MLP"},
       {config.embedding_scale > 0, "embedding_scale cannot be expressed: GPT-2 has none"},
       {config.gated_mlp, "gated_mlp cannot be expressed: GPT-2's MLPs have no gate"},
       {config.parallel_residual,
        "parallel_residual cannot be expressed: GPT-2's MLPs follow attention"},
       {config.qkv_bias || config.attention_output_bias || config.mlp_bias,
        "biases in only some layers cannot be expressed: GPT-2 has all of them"},
       {!has_heads,
        "these heads cannot be expressed: GPT-2 has n_head heads of width n_embd / n_head in "
        "every layer, each with keys of its own"},
       {!config.windows.empty() || config.attention_scale != 0,
        "this attention cannot be expressed: GPT-2 attends to all earlier tokens, with the scale "
        "1 / sqrt(head_width)"}});
}

Json gpt2_json(const GptConfig& config) {
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"n_positions", config.block_size},
          {"n_ctx", config.block_size},
          {"n_embd", config.n_embd},
          {"n_layer", config.n_layer},
          {"n_head", config.n_head},
          {"n_inner", config.n_inner > 0 ? Json(config.n_inner) : Json()},
          {"activation_function", name_of(config.activation)},
          {"resid_pdrop", config.residual_dropout},
          {"embd_pdrop", config.embedding_dropout},
          {"attn_pdrop", config.attention_dropout},
          {"layer_norm_epsilon", config.layer_norm_epsilon},
          {"scale_attn_weights", true},
          {"scale_attn_by_inverse_layer_idx", false},
          {"reorder_and_upcast_attn", false},
          {"headlight_bias", config.bias}};
}

void add_rope(const GptConfig& config, Json& json) {
  const RopeOptions& rope = config.rope;
  json.update(Json{{"rope_theta", rope.theta},
                   {"rope_local_theta", config.rope_local_theta},
                   {"rope_width", rope.width},
                   {"rope_style", name_of(rope.style)},
                   {"rope_scaling", name_of(rope.scaling)},
                   {"rope_factor", rope.factor},
                   {"rope_low_freq_factor", rope.low_freq_factor},
                   {"rope_high_freq_factor", rope.high_freq_factor},
                   {"rope_original_block_size", rope.original_max_position_embeddings}});
}

Json headlight_config_json(const GptConfig& config) {
  Json json = gpt2_json(config);
  json["architectures"] = Json::array({"HeadlightForCausalLM"});
  json["model_type"] = "headlight";
  json["norm"] = name_of(config.norm);
  json["norm_type"] = name_of(config.norm_type);
  json["norm_gain_plus_one"] = config.norm_gain_plus_one;
  json["output_norms"] = config.output_norms;
  json["embedding_scale"] = config.embedding_scale;
  json["qk_norm"] = config.qk_norm;
  json["gated_mlp"] = config.gated_mlp;
  json["heads_per_layer"] = config.heads_per_layer;
  json["head_width"] = config.head_width;
  json["mlp"] = config.mlp;
  json["position"] = name_of(config.position);
  if (config.position == PositionKind::rope) {
    add_rope(config, json);
  }
  json["parallel_residual"] = config.parallel_residual;
  json["shared_norm"] = config.shared_norm;
  const auto add_bias = [&](const char* key, std::optional<bool> bias) {
    if (bias) {
      json[key] = *bias;
    }
  };
  add_bias("qkv_bias", config.qkv_bias);
  add_bias("attention_output_bias", config.attention_output_bias);
  add_bias("mlp_bias", config.mlp_bias);
  json["n_kv_head"] = config.n_kv_head;
  json["windows"] = config.windows;
  json["attention_scale"] = config.attention_scale;
  if (!config.head_numbers.empty()) {
    json["head_numbers"] = config.head_numbers;
  }
  if (!config.key_head_numbers.empty()) {
    json["key_head_numbers"] = config.key_head_numbers;
  }
  if (!config.key_groups.empty()) {
    json["key_groups"] = config.key_groups;
  }
  return json;
}

// Matrices of layers are stored as [inputs, outputs].
std::vector<StoredTensor> gpt2_tensors(const Weight& weight, const GptConfig&) {
  return {{.name = weight.name,
           .rows = weight.shape[0],
           .transposed = weight.multiplied && weight.layer != kNoLayer}};
}

}  // namespace

const WeightLayout kGpt2Layout{.prefix = "transformer.",
                               .head = "lm_head.weight",
                               .buffers = {".attn.bias", ".attn.masked_bias"},
                               .layers = "h.",
                               .tensors_of = gpt2_tensors,
                               .has_all_biases = true};

const ModelFamily kGpt2{.type = "gpt2",
                        .layout = kGpt2Layout,
                        .read_config = read_gpt2,
                        .refusal = refusal_of_gpt2,
                        .config_json = gpt2_json};

const ModelFamily kHeadlight{.type = "headlight",
                             .layout = kGpt2Layout,
                             .read_config = read_headlight_config,
                             .refusal = [](const GptConfig&) { return std::string(); },
                             .config_json = headlight_config_json};

}  // namespace headlight
