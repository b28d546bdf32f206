#include "formats/families/families.h"
#include "formats/families/layer_keys.h"
#include "headlight/base/error.h"

// GPT-Neo (Black et al. 2021), the family of the TinyStories models: every second layer has a
// window, scores are not scaled, and queries, keys and values have no biases.
namespace headlight {
namespace {

constexpr Index kNeoWindow = 256;  // transformers' window_size

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

void neo_layers(const ConfigKeys& keys, GptConfig& config) {
  Index window = keys.writes() && common_window(config) > 0 ? common_window(config) : kNeoWindow;
  keys.size("window_size", window, kNeoWindow);
  if (keys.writes()) {
    Json layers;
    for (Index layer = 0; layer < config.n_layer; ++layer) {
      layers.push_back(has_window(config, layer) ? "local" : "global");
    }
    keys.unread("attention_types", Json::array({Json::array({layers, 1})}));
    keys.unread("attention_layers", layers);
    return;
  }
  for (const bool is_windowed : local_layers(*keys.reader(), config.n_layer)) {
    config.windows.push_back(is_windowed ? window : 0);
  }
}

void gpt_neo(const ConfigKeys& keys, GptConfig& config) {
  if (keys.writes()) {
    config = config.canonical();
  }
  keys.size("vocab_size", config.vocab_size, 50257);
  keys.size("max_position_embeddings", config.block_size, 2048);
  keys.size("hidden_size", config.n_embd, 2048);
  keys.size("num_layers", config.n_layer, 24, kMostLayers);
  keys.size("num_heads", config.n_head, 16);
  keys.or_null().size("intermediate_size", config.n_inner, 0);
  keys.activation("activation_function", config.activation, "gelu_new");
  keys.number("attention_dropout", config.attention_dropout, 0);
  keys.number("resid_dropout", config.residual_dropout, 0);
  keys.number("embed_dropout", config.embedding_dropout, 0);
  keys.number("layer_norm_epsilon", config.layer_norm_epsilon, 1e-5);
  keys.boolean("tie_word_embeddings", config.tie_weights, true);
  neo_layers(keys, config);
  config.attention_scale = 1;
  config.qkv_bias = false;
}

constexpr PartNames kNeoNames[] = {
    {Part::query_key_value, "attn.attention.q_proj attn.attention.k_proj attn.attention.v_proj"},
    {Part::attention_output, "attn.attention.out_proj"}};

std::vector<StoredTensor> gpt_neo_tensors(const Weight& weight, const GptConfig& config) {
  return named_tensors(weight, config, "h.", kNeoNames);
}

constexpr KeyAlias kNeoAliases[] = {{"num_attention_heads", "num_heads"},
                                    {"num_hidden_layers", "num_layers"}};

}  // namespace

std::span<const ModelFamily> gpt_neo_families() {
  static const ModelFamily family{
      .type = "gpt_neo",
      .architecture = "GPTNeoForCausalLM",
      .layout = {.prefix = "transformer.",
                 .head = "lm_head.weight",
                 .buffers = {".attn.attention.bias", ".attn.attention.masked_bias"},
                 .layers = "h.",
                 .tensors_of = gpt_neo_tensors},
      .keys = gpt_neo,
      .aliases = kNeoAliases};
  return {&family, 1};
}

}  // namespace headlight
