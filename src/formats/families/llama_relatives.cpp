#include "formats/families/llama_layers.h"

// Families with Llama's layers that differ in rotation, gate and biases: one row each.
namespace headlight {
namespace {

struct Relative {
  const char* type;
  const char* architecture;
  LlamaDefaults defaults;
  RotaryStyle style = RotaryStyle::half;
  bool is_gated = true;
  // Keys of the biases; null: none. Parts with the same key have biases together.
  const char* qkv_bias = nullptr;
  const char* output_bias = nullptr;
  const char* mlp_bias = nullptr;
  bool default_qkv_bias = false;
  bool has_model_width = false;   // all heads together are as wide as the model
  const char* dropout = nullptr;  // key of the residual dropout; null: Headlight's key
};

constexpr Relative kArceeRow{.type = "arcee",
                             .architecture = "ArceeForCausalLM",
                             .defaults = {.block = 4096,
                                          .width = 2560,
                                          .inner = 18432,
                                          .epsilon = 1e-5,
                                          .activation = "relu2",
                                          .null_keys = "num_key_value_heads head_dim"},
                             .is_gated = false,
                             .qkv_bias = "attention_bias",
                             .output_bias = "attention_bias",
                             .mlp_bias = "mlp_bias"};

constexpr Relative kErnieRow{
    .type = "ernie4_5",
    .architecture = "Ernie4_5ForCausalLM",
    .defaults = {.vocabulary = 103424,
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
                 .null_keys = "num_key_value_heads head_dim attention_dropout use_bias"},
    .style = RotaryStyle::interleaved,
    .qkv_bias = "use_bias",
    .output_bias = "use_bias",
    .mlp_bias = "use_bias"};

constexpr Relative kHeliumRow{.type = "helium",
                              .architecture = "HeliumForCausalLM",
                              .defaults = {.vocabulary = 48000,
                                           .block = 4096,
                                           .width = 2560,
                                           .layers = 24,
                                           .heads = 20,
                                           .key_heads = 20,
                                           .head_width = 128,
                                           .inner = 7040,
                                           .epsilon = 1e-8,
                                           .theta = 1e5,
                                           .null_keys = ""},
                              .style = RotaryStyle::interleaved,
                              .qkv_bias = "attention_bias",
                              .mlp_bias = "mlp_bias",
                              .has_model_width = true};

constexpr Relative kSeedRow{.type = "seed_oss",
                            .architecture = "SeedOssForCausalLM",
                            .defaults = {.vocabulary = 155136,
                                         .block = Index{1} << 19,
                                         .layers = 64,
                                         .heads = 80,
                                         .key_heads = 8,
                                         .head_width = 128,
                                         .inner = 27648,
                                         .null_keys = "num_key_value_heads head_dim"},
                            .qkv_bias = "attention_bias",
                            .output_bias = "attention_out_bias",
                            .mlp_bias = "mlp_bias",
                            .default_qkv_bias = true,
                            .dropout = "residual_dropout"};

GptConfig read_relative(const ConfigReader& reader, const Relative& row) {
  GptConfig config = read_llama_layers(reader, row.defaults);
  if (row.has_model_width) {
    require_heads_of_model_width(config);
  }
  config.rope.style = row.style;
  config.gated_mlp = row.is_gated;
  const auto has_bias = [&](const char* key, bool fallback) {
    return row.defaults.reader_of(key, reader).boolean(key, fallback);
  };
  config.qkv_bias = has_bias(row.qkv_bias, row.default_qkv_bias);
  config.attention_output_bias = row.output_bias != nullptr && has_bias(row.output_bias, false);
  config.mlp_bias = has_bias(row.mlp_bias, false);
  if (row.dropout != nullptr) {
    config.residual_dropout = reader.number(row.dropout, 0.1);
  }
  return config;
}

bool has_biases_of(const Relative& row, const BlockPlan& plan) {
  const std::string_view together = row.qkv_bias;
  const bool has_output = row.output_bias == nullptr ? !plan.attention_output_bias
                          : row.output_bias == together
                              ? plan.attention_output_bias == plan.qkv_bias
                              : true;
  return has_output && (row.mlp_bias != together || plan.mlp_bias == plan.qkv_bias);
}

std::string refusal_of_relative(const GptConfig& config, const Relative& row) {
  GptConfig plain = config;
  plain.rope.style = RotaryStyle::half;
  plain.gated_mlp = true;
  const BlockPlan plan = block_plan(config, 0);
  const bool has_layers = config.rope.style == row.style && config.gated_mlp == row.is_gated &&
                          config.mlp &&
                          (!row.has_model_width || plan.attention.inner_width() == config.n_embd);
  return first_refusal({{config.qk_norm, kQkNorm},
                        {!config.windows.empty(), kOtherWindows},
                        {!has_biases_of(row, plan), kOtherBiases},
                        {!has_layers, kOtherLayers},
                        {true, refusal_of_llama_layers(plain)}});
}

Json relative_json(const GptConfig& config, const Relative& row) {
  const BlockPlan plan = block_plan(config, 0);
  Json json = llama_layers_json(config, row.type, row.architecture);
  json[row.qkv_bias] = plan.qkv_bias;
  if (row.output_bias != nullptr) {
    json[row.output_bias] = plan.attention_output_bias;
  }
  json[row.mlp_bias] = plan.mlp_bias;
  if (row.dropout != nullptr) {
    json[row.dropout] = config.residual_dropout;
  }
  return json;
}

template <const Relative& row>
ModelFamily family_of() {
  return {.type = row.type,
          .layout = llama_layout(),
          .read_config = [](const ConfigReader& reader) { return read_relative(reader, row); },
          .refusal = [](const GptConfig& config) { return refusal_of_relative(config, row); },
          .config_json = [](const GptConfig& config) { return relative_json(config, row); }};
}

}  // namespace

const ModelFamily kArcee = family_of<kArceeRow>();
const ModelFamily kErnie = family_of<kErnieRow>();
const ModelFamily kHelium = family_of<kHeliumRow>();
const ModelFamily kSeedOss = family_of<kSeedRow>();

}  // namespace headlight
