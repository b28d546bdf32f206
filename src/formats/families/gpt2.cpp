#include <algorithm>
#include <iterator>

#include "formats/families/families.h"
#include "formats/word_list.h"
#include "headlight/base/error.h"
#include "headlight/nn/gpt_config_keys.h"

// GPT-2 (Radford et al. 2019), whose tensor names Gpt::parameters() uses. Models that GPT-2 cannot
// express get the type "headlight", so that other tools refuse them instead of misreading them.
namespace headlight {

Activation read_activation(const ConfigReader& reader, const char* key, const char* fallback) {
  const std::string text = reader.text(key, fallback);
  // Other names in transformers for the same functions.
  if (has_word("gelu_pytorch_tanh gelu_fast gelu_accurate gelu_python_tanh", text)) {
    return Activation::gelu_tanh;
  }
  if (text == "gelu_python" || text == "swish") {
    return text == "swish" ? Activation::silu : Activation::gelu_erf;
  }
  std::vector<std::string_view> names(kChoiceNames<Activation>.begin(),
                                      kChoiceNames<Activation>.end());
  if (std::ranges::count(names, text) == 0) {
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
  config.n_layer = reader.size("n_layer", 12, 1, kMostLayers);
  config.n_head = reader.size("n_head", 12);
  const Index inner = reader.or_null().size("n_inner", 4 * config.n_embd);
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

// Returns the name of a key in config.json. All of RopeOptions begin with "rope_".
std::string name_in_file(const GptConfigKey& key) {
  const std::string name = key.name;
  const bool has_other = is_of_rope(key) && !name.starts_with("rope_");
  return has_other ? std::string(words_of(key.file_names).front()) : name;
}

// Calls field(key, value) for Headlight's own keys, in the order of config.json.
template <class Config, class Field>
void for_each_field(Config& config, const Field& field) {
  for (const GptConfigKey& key : gpt_config_keys()) {
    const std::string name = name_in_file(key);
    const bool is_of_rope = name.starts_with("rope_");
    if (!key.is_gpt2 && (!is_of_rope || config.position == PositionKind::rope)) {
      visit_value(key, config, [&](auto& value) { field(name.c_str(), value); });
    }
  }
}

using Lists = std::vector<std::vector<Index>>;

std::vector<Index> whole_numbers(const Json::List& list) {
  std::vector<Index> numbers;
  std::ranges::transform(list, std::back_inserter(numbers), &Json::integer);
  return numbers;
}

// Reads fields. A field whose key is missing keeps its value.
struct FieldReader {
  const ConfigReader& reader;

  void operator()(const char* key, bool& value) const { value = reader.boolean(key, value); }
  void operator()(const char* key, double& value) const { value = reader.number(key, value); }
  void operator()(const char* key, Index& value) const {
    value = reader.size(key, value, std::min<Index>(value, 1));
  }
  void operator()(const char* key, std::optional<bool>& value) const {
    value = reader.or_null().boolean(key);
  }
  void operator()(const char* key, std::vector<Index>& value) const {
    value = whole_numbers(reader.list(key, &Json::is_integer, "whole numbers"));
  }
  void operator()(const char* key, std::vector<double>& value) const {
    value = reader.numbers(key);
  }
  void operator()(const char* key, Lists& value) const {
    for (const Json& list : reader.list(key, &Json::is_array, "a list of lists")) {
      require_value(std::ranges::all_of(list, &Json::is_integer), key, "expected whole numbers");
      value.push_back(whole_numbers(list.list()));
    }
  }
  template <HasChoices E>
  void operator()(const char* key, E& value) const {
    value = parse_name<E>(key, reader.text(key, std::string(name_of(value))));
  }
};

// Adds fields to a config.json, except optional ones without a value.
struct FieldWriter {
  Json& json;

  template <class T>
  void operator()(const char* key, const T& value) const {
    if constexpr (HasChoices<T>) {
      json[key] = name_of(value);
    } else {
      json[key] = value;
    }
  }
  void operator()(const char* key, const std::optional<bool>& value) const {
    if (value) {
      json[key] = *value;
    }
  }
  void operator()(const char* key, const Lists& value) const {
    if (!value.empty()) {
      json[key] = value;
    }
  }
};

GptConfig read_headlight_config(const ConfigReader& reader) {
  GptConfig config = read_gpt2(reader);
  for_each_field(config, FieldReader{reader});
  return config;
}

std::string refusal_of_gpt2(const GptConfig& config) {
  const bool has_norms = config.norm_type == NormKind::layer && !config.norm_gain_plus_one &&
                         !config.output_norms && !config.qk_norm;
  const bool has_heads = config.heads_per_layer.empty() && config.head_width == 0 &&
                         config.head_numbers.empty() && config.n_kv_head == 0 &&
                         config.key_groups.empty();
  return first_refusal(
      {{config.norm != NormPosition::pre,
        concat_text("norm = ", name_of(config.norm),
                    " cannot be expressed: GPT-2 has its norms before attention and MLP")},
       {true, refusal_of_rare_parts(config)},
       {!config.mlp, "layers without an MLP cannot be expressed: GPT-2 has one in every layer"},
       {config.position != PositionKind::learned,
        concat_text("position = ", name_of(config.position),
                    " cannot be expressed: GPT-2 has learned positions")},
       {!has_norms,
        "these norms cannot be expressed: GPT-2 has layer norms before attention and MLP"},
       {!has_plain_head(config), kOtherHead},
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

Json headlight_config_json(const GptConfig& config) {
  Json json = gpt2_json(config);
  json["architectures"] = Json::array({"HeadlightForCausalLM"});
  json["model_type"] = "headlight";
  for_each_field(config, FieldWriter{json});
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

constexpr KeyAlias kGpt2Aliases[] = {{"hidden_size", "n_embd"},
                                     {"max_position_embeddings", "n_positions"},
                                     {"num_attention_heads", "n_head"},
                                     {"num_hidden_layers", "n_layer"}};

const ModelFamily kGpt2{.type = "gpt2",
                        .layout = kGpt2Layout,
                        .read_config = read_gpt2,
                        .refusal = refusal_of_gpt2,
                        .config_json = gpt2_json,
                        .aliases = kGpt2Aliases};

const ModelFamily kHeadlight{.type = "headlight",
                             .layout = kGpt2Layout,
                             .read_config = read_headlight_config,
                             .refusal = [](const GptConfig&) { return std::string(); },
                             .config_json = headlight_config_json};

}  // namespace headlight
