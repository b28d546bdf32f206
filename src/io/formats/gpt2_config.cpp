#include "io/formats/gpt2_config.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/printable.h"
#include "headlight/io/model_directory.h"

namespace headlight {
namespace {

bool fits_gpt2(const GptConfig& config) {
  return config.norm == NormPosition::pre && config.mlp && config.heads_per_layer.empty() &&
         config.head_width == 0 && config.head_numbers.empty() && config.n_kv_head == 0 &&
         config.windows.empty() && config.attention_scale == 0 &&
         config.position == PositionKind::learned && !config.parallel_residual &&
         !config.qkv_bias && !config.attention_output_bias && !config.mlp_bias;
}

// Reads members of one config.json; what is wrong is said about their keys.
class ConfigReader {
 public:
  explicit ConfigReader(const Json& object) : object_(object) {
    require(object.is_object(), "expected a JSON object");
  }

  // Absent and null are the same.
  const Json* find(const char* key) const {
    const Json* found = object_.find(key);
    return found == nullptr || found->is_null() ? nullptr : found;
  }

  Index integer(const char* key, Index fallback) const {
    const Json* value = find(key);
    require_value(value == nullptr || value->is_integer(), key, "expected a whole number");
    return value == nullptr ? fallback : value->integer();
  }

  double number(const char* key, double fallback) const {
    const Json* value = find(key);
    require_value(value == nullptr || value->is_number(), key, "expected a number");
    return value == nullptr ? fallback : value->number();
  }

  std::optional<bool> boolean(const char* key) const {
    const Json* value = find(key);
    require_value(value == nullptr || value->is_boolean(), key, "expected true or false");
    return value == nullptr ? std::nullopt : std::optional<bool>(value->boolean());
  }
  bool boolean(const char* key, bool fallback) const { return boolean(key).value_or(fallback); }

  std::string text(const char* key, const std::string& fallback) const {
    const Json* value = find(key);
    require_value(value == nullptr || value->is_string(), key, "expected a text");
    return value == nullptr ? fallback : value->text();
  }

  // Empty where there is none.
  std::vector<Index> integers(const char* key) const {
    const Json* value = find(key);
    require_value(value == nullptr || value->is_array(), key, "expected a list");
    std::vector<Index> result;
    for (std::size_t i = 0; value != nullptr && i < value->size(); ++i) {
      require_value((*value)[i].is_integer(), key, "expected whole numbers");
      result.push_back((*value)[i].integer());
    }
    return result;
  }

  // The model would compute something else with any other value.
  void require_default(const char* key, bool supported) const {
    require_value(boolean(key, supported) == supported, key, "only ", supported ? "true" : "false",
                  " is supported");
  }

 private:
  const Json& object_;
};

void read_headlight_keys(const ConfigReader& reader, GptConfig& config) {
  config.norm = parse_name<NormPosition>("norm", reader.text("norm", "pre"));
  config.head_width = reader.integer("head_width", 0);
  config.mlp = reader.boolean("mlp", true);
  config.position = parse_name<PositionKind>("position", reader.text("position", "learned"));
  config.parallel_residual = reader.boolean("parallel_residual", false);
  config.shared_norm = reader.boolean("shared_norm", false);
  config.qkv_bias = reader.boolean("qkv_bias");
  config.attention_output_bias = reader.boolean("attention_output_bias");
  config.mlp_bias = reader.boolean("mlp_bias");
  config.n_kv_head = reader.integer("n_kv_head", 0);
  config.attention_scale = reader.number("attention_scale", 0);
  config.heads_per_layer = reader.integers("heads_per_layer");
  config.windows = reader.integers("windows");
  if (const Json* layers = reader.find("head_numbers")) {
    require_value(layers->is_array(), "head_numbers", "expected a list of lists");
    for (const Json& layer : *layers) {
      require_value(layer.is_array(), "head_numbers", "expected a list of lists");
      config.head_numbers.emplace_back();
      for (const Json& number : layer) {
        require_value(number.is_integer(), "head_numbers", "expected whole numbers");
        config.head_numbers.back().push_back(number.integer());
      }
    }
  }
}

Activation read_activation(const ConfigReader& reader) {
  constexpr const char* kKey = "activation_function";
  const std::string text = reader.text(kKey, "gelu_new");
  // transformers has two names for the tanh approximation.
  constexpr std::array<std::string_view, 4> kNames{"gelu_new", "gelu_pytorch_tanh", "gelu", "relu"};
  if (std::find(kNames.begin(), kNames.end(), text) == kNames.end()) {
    fail_choice(kKey, kNames, text);
  }
  return text == "gelu_pytorch_tanh" ? Activation::gelu_tanh : parse_name<Activation>(kKey, text);
}

void check_supported(const ConfigReader& reader) {
  reader.require_default("scale_attn_weights", true);
  reader.require_default("scale_attn_by_inverse_layer_idx", false);
  reader.require_default("add_cross_attention", false);
}

GptConfig read_config(const Json& json) {
  const ConfigReader reader(json);
  const std::string type = reader.text("model_type", "");
  require_value(type == "gpt2" || type == "headlight", "model_type", "expected gpt2, got ",
                in_quotes(type));
  GptConfig config;
  config.vocab_size = reader.integer("vocab_size", 50257);
  config.block_size = reader.integer("n_positions", reader.integer("n_ctx", 1024));
  config.n_embd = reader.integer("n_embd", 768);
  config.n_layer = reader.integer("n_layer", 12);
  config.n_head = reader.integer("n_head", 12);
  const Index inner = reader.integer("n_inner", 4 * config.n_embd);
  require_value(inner >= 1, "n_inner", "expected a number from 1, got ", inner);
  config.n_inner = inner == 4 * config.n_embd ? 0 : inner;
  config.attention_dropout = reader.number("attn_pdrop", 0.1);
  config.residual_dropout = reader.number("resid_pdrop", 0.1);
  config.embedding_dropout = reader.number("embd_pdrop", 0.1);
  config.layer_norm_epsilon = reader.number("layer_norm_epsilon", 1e-5);
  config.tie_weights = reader.boolean("tie_word_embeddings", true);
  config.bias = reader.boolean("headlight_bias", true);
  if (type == "headlight") {
    read_headlight_keys(reader, config);
  }
  config.activation = read_activation(reader);
  config.validate();
  check_supported(reader);
  return config;
}

}  // namespace

void require_gpt2(const GptConfig& config) {
  require(config.norm == NormPosition::pre,
          "hf: norm = post cannot be expressed: GPT-2 has its norms in front");
  require(config.mlp,
          "hf: layers without an MLP cannot be expressed: GPT-2 has one in every layer");
  require(config.position == PositionKind::learned, "hf: position = ", name_of(config.position),
          " cannot be expressed: GPT-2 has learned positions");
  require(!config.parallel_residual,
          "hf: parallel_residual cannot be expressed: GPT-2's MLPs follow attention");
  require(!config.qkv_bias && !config.attention_output_bias && !config.mlp_bias,
          "hf: biases of some layers alone cannot be expressed");
  require(fits_gpt2(config),
          "hf: these heads cannot be expressed: GPT-2 has n_head heads of width ",
          "n_embd / n_head in every layer, each with keys of its own, all tokens before and the ",
          "usual scale");
}

void simplify_heads(GptConfig& config) {
  const bool same_count = std::all_of(config.heads_per_layer.begin(), config.heads_per_layer.end(),
                                      [&](Index heads) { return heads == config.n_head; });
  const bool usual_width =
      config.head_width == 0 || config.head_width * config.n_head == config.n_embd;
  if (same_count && usual_width) {
    config.heads_per_layer.clear();
    config.head_width = 0;
  }
}

std::string gpt2_config_json(const GptConfig& config, const Tokenizer& tokenizer) {
  const bool gpt2 = fits_gpt2(config);
  Json json{{"architectures", {gpt2 ? "GPT2LMHeadModel" : "HeadlightForCausalLM"}},
            {"model_type", gpt2 ? "gpt2" : "headlight"},
            {"vocab_size", config.vocab_size},
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
            {"initializer_range", 0.02},
            {"scale_attn_weights", true},
            {"scale_attn_by_inverse_layer_idx", false},
            {"reorder_and_upcast_attn", false},
            {"use_cache", true},
            {"bos_token_id", tokenizer.end_of_text()},
            {"eos_token_id", tokenizer.end_of_text()},
            {"tie_word_embeddings", config.tie_weights},
            {"dtype", "float32"},        // transformers 5
            {"torch_dtype", "float32"},  // and before
            {"headlight_bias", config.bias}};
  if (!gpt2) {
    json["norm"] = name_of(config.norm);
    json["heads_per_layer"] = config.heads_per_layer;
    json["head_width"] = config.head_width;
    json["mlp"] = config.mlp;
    json["position"] = name_of(config.position);
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
  }
  return json.dump(2) + "\n";
}

GptConfig parse_gpt2_config(std::string_view text, std::string_view name) {
  const Json json = parse_json(text, name);
  return in_place(concat_text(name, ": "), [&] { return read_config(json); });
}

}  // namespace headlight
