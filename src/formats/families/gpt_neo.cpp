#include "formats/families/families.h"
#include "headlight/base/error.h"

// GPT-Neo (Black et al. 2021), the family of the TinyStories models: every second layer has a
// window, scores are not scaled, and queries, keys and values have no biases.
namespace headlight {
namespace {

constexpr Index kWindow = 256;  // transformers' window_size

// Returns whether a kind of layer has a window.
bool is_local(const Json& kind, const char* key) {
  require_value(kind == Json("global") || kind == Json("local"), key,
                "expected global or local, got ", kind.dump());
  return kind.text() == "local";
}

// Returns, for every layer, whether "attention_types" makes it local: [[["global", "local"], 12]].
std::vector<bool> local_types(const ConfigReader& reader) {
  constexpr const char* kKey = "attention_types";
  const Json default_types = Json::array({Json::array({Json::array({"global", "local"}), 12})});
  std::vector<bool> local;
  const Json* given = reader.find(kKey);
  const Json& types = given == nullptr ? default_types : *given;
  require_value(types.is_array(), kKey, "expected a list");
  for (const Json& group : types) {
    require_value(group.is_array() && group.size() == 2 && group[0].is_array() &&
                      !group[0].empty() && group[1].is_integer() && group[1].integer() >= 0,
                  kKey, "expected lists of kinds with the number of repetitions");
    for (Index time = 0; time < group[1].integer(); ++time) {
      for (const Json& kind : group[0]) {
        local.push_back(is_local(kind, kKey));
      }
      require_value(std::ssize(local) <= kMostLayers, kKey, "expected at most ", kMostLayers,
                    " layers");
    }
  }
  return local;
}

// Returns whether each layer is local. attention_layers has priority, as in transformers.
std::vector<bool> local_layers(const ConfigReader& reader, Index layers) {
  constexpr const char* kKey = "attention_layers";
  std::vector<bool> local = local_types(reader);
  const bool has_layers = reader.find(kKey) != nullptr;
  if (has_layers) {
    local.clear();
    for (const Json& kind : reader.list(kKey, &Json::is_string, "texts")) {
      local.push_back(is_local(kind, kKey));
    }
  }
  require_value(std::ssize(local) == layers, has_layers ? kKey : "attention_types", "expected ",
                layers, " layers, got ", local.size());
  return local;
}

GptConfig read_gpt_neo(const ConfigReader& reader) {
  GptConfig config;
  config.vocab_size = reader.size("vocab_size", 50257);
  config.block_size = reader.size("max_position_embeddings", 2048);
  config.n_embd = reader.size("hidden_size", 2048);
  config.n_layer = reader.size("num_layers", 24, 1, kMostLayers);
  config.n_head = reader.size("num_heads", 16);
  config.n_inner = reader.or_null().size("intermediate_size", 0);
  config.activation = read_activation(reader, "activation_function", "gelu_new");
  config.attention_dropout = reader.number("attention_dropout", 0);
  config.residual_dropout = reader.number("resid_dropout", 0);
  config.embedding_dropout = reader.number("embed_dropout", 0);
  config.layer_norm_epsilon = reader.number("layer_norm_epsilon", 1e-5);
  config.tie_weights = reader.boolean("tie_word_embeddings", true);
  config.attention_scale = 1;
  config.qkv_bias = false;
  const Index window = reader.size("window_size", kWindow);
  for (const bool has_window : local_layers(reader, config.n_layer)) {
    config.windows.push_back(has_window ? window : 0);
  }
  return config;
}

std::string refusal_of_gpt_neo(const GptConfig& config) {
  GptConfig plain = config;
  plain.windows.clear();
  plain.attention_scale = 0;
  plain.qkv_bias.reset();
  if (const std::string why = kGpt2.refusal(plain); !why.empty()) {
    return why;
  }
  if (config.attention_scale != 1 || block_plan(config, 0).qkv_bias || !config.bias) {
    return "this attention: GPT-Neo has no attention_scale, and no biases on q, k and v";
  }
  return !config.windows.empty() && common_window(config) == 0
             ? "windows: GPT-Neo has the same in all layers that have one"
             : "";
}

Json gpt_neo_json(const GptConfig& config) {
  Json layers;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    layers.push_back(block_plan(config, layer).attention.window > 0 ? "local" : "global");
  }
  const Json types = Json::array({Json::array({layers, 1})});
  return {{"architectures", {"GPTNeoForCausalLM"}},
          {"model_type", "gpt_neo"},
          {"max_position_embeddings", config.block_size},
          {"hidden_size", config.n_embd},
          {"num_layers", config.n_layer},
          {"num_heads", config.n_head},
          {"intermediate_size", config.n_inner > 0 ? Json(config.n_inner) : Json()},
          {"attention_types", types},
          {"attention_layers", layers},
          {"window_size", config.windows.empty() ? kWindow : common_window(config)},
          {"activation_function", name_of(config.activation)},
          {"resid_dropout", config.residual_dropout},
          {"embed_dropout", config.embedding_dropout},
          {"attention_dropout", config.attention_dropout},
          {"layer_norm_epsilon", config.layer_norm_epsilon}};
}

constexpr Choice<Part> kNeoNames[] = {
    {"attn.attention.q_proj attn.attention.k_proj attn.attention.v_proj", Part::query_key_value},
    {"attn.attention.out_proj", Part::attention_output}};

std::vector<StoredTensor> gpt_neo_tensors(const Weight& weight, const GptConfig& config) {
  return named_tensors(weight, config, "h.", kNeoNames);
}

}  // namespace

constexpr KeyAlias kGptNeoAliases[] = {{"num_attention_heads", "num_heads"},
                                       {"num_hidden_layers", "num_layers"}};

const ModelFamily kGptNeo{
    .type = "gpt_neo",
    .layout = {.prefix = "transformer.",
               .head = "lm_head.weight",
               .buffers = {".attn.attention.bias", ".attn.attention.masked_bias"},
               .layers = "h.",
               .tensors_of = gpt_neo_tensors},
    .read_config = read_gpt_neo,
    .refusal = refusal_of_gpt_neo,
    .config_json = gpt_neo_json,
    .aliases = kGptNeoAliases};

}  // namespace headlight
