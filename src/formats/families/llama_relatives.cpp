#include "formats/families/llama_layers.h"

// Families with Llama's layers that differ in rotation, gate and biases: one row each.
namespace headlight {
namespace {

struct Relative {
  const char* type;
  const char* architecture;
  LlamaDefaults usual;
  RotaryStyle style = RotaryStyle::half;
  bool is_gated = true;
  const char* qkv_bias = nullptr;  // key of the biases of queries, keys and values
  bool has_output_bias = false;    // attention's output has one with the same key
  const char* mlp_bias = nullptr;  // key of the MLP's biases; null: the same key
};

constexpr Relative kArceeRow{
    .type = "arcee",
    .architecture = "ArceeForCausalLM",
    .usual = {.block = 4096, .width = 2560, .inner = 18432, .epsilon = 1e-5, .activation = "relu2"},
    .is_gated = false,
    .qkv_bias = "attention_bias",
    .has_output_bias = true,
    .mlp_bias = "mlp_bias"};

constexpr Relative kErnieRow{.type = "ernie4_5",
                             .architecture = "Ernie4_5ForCausalLM",
                             .usual = {.vocabulary = 103424,
                                       .block = Index{1} << 17,
                                       .width = 1024,
                                       .layers = 18,
                                       .heads = 16,
                                       .key_heads = 2,
                                       .head_width = 128,
                                       .inner = 3072,
                                       .epsilon = 1e-5,
                                       .tied = true,
                                       .theta = 5e5},
                             .style = RotaryStyle::interleaved,
                             .qkv_bias = "use_bias",
                             .has_output_bias = true};

constexpr Relative kHeliumRow{.type = "helium",
                              .architecture = "HeliumForCausalLM",
                              .usual = {.vocabulary = 48000,
                                        .block = 4096,
                                        .width = 2560,
                                        .layers = 24,
                                        .heads = 20,
                                        .key_heads = 20,
                                        .head_width = 128,
                                        .inner = 7040,
                                        .epsilon = 1e-8,
                                        .theta = 1e5},
                              .style = RotaryStyle::interleaved,
                              .qkv_bias = "attention_bias",
                              .mlp_bias = "mlp_bias"};

GptConfig read_relative(const ConfigReader& reader, const Relative& row) {
  GptConfig config = read_llama_layers(reader, row.usual);
  config.rope.style = row.style;
  config.gated_mlp = row.is_gated;
  const bool has_bias = reader.boolean(row.qkv_bias, false);
  config.qkv_bias = has_bias;
  config.attention_output_bias = row.has_output_bias && has_bias;
  config.mlp_bias = row.mlp_bias == nullptr ? has_bias : reader.boolean(row.mlp_bias, false);
  return config;
}

bool has_biases_of(const Relative& row, const BlockPlan& plan) {
  return plan.attention_output_bias == (row.has_output_bias && plan.qkv_bias) &&
         (row.mlp_bias != nullptr || plan.mlp_bias == plan.qkv_bias);
}

std::string refusal_of_relative(const GptConfig& config, const Relative& row) {
  GptConfig plain = config;
  plain.rope.style = RotaryStyle::half;
  plain.gated_mlp = true;
  const BlockPlan plan = block_plan(config, 0);
  const bool has_layers = config.rope.style == row.style && config.gated_mlp == row.is_gated &&
                          config.mlp && plan.attention.inner_width() == config.n_embd;
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
  if (row.mlp_bias != nullptr) {
    json[row.mlp_bias] = plan.mlp_bias;
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

}  // namespace headlight
