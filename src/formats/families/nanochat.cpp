#include "formats/families/llama_layers.h"
#include "headlight/base/error.h"

// nanochat (Karpathy, 2025): RMS norms without weights, also of the embeddings and, after the
// rotation, of queries and keys; MLPs without a gate; a soft cap of the logits.
namespace headlight {
namespace {

GptConfig read_nanochat(const ConfigReader& reader) {
  GptConfig config = read_llama_layers(reader, {.vocabulary = 50304,
                                                .width = 768,
                                                .layers = 12,
                                                .heads = 6,
                                                .inner = 8192,
                                                .activation = "relu2"});
  config.qkv_bias = reader.boolean("attention_bias", false);
  config.attention_output_bias = config.qkv_bias;
  config.gated_mlp = false;
  config.norm_weights = false;
  config.embedding_norm = true;
  config.qk_norm = true;
  config.qk_norm_last = true;
  config.rope.reversed = true;
  config.logit_cap = read_cap(reader, "final_logit_softcapping", 15);
  return config;
}

std::string refusal_of_nanochat(const GptConfig& config) {
  GptConfig plain = config;
  plain.gated_mlp = true;
  plain.norm_weights = true;
  plain.embedding_norm = false;
  plain.qk_norm_last = false;
  plain.rope.reversed = false;
  plain.logit_cap = 0;
  const BlockPlan plan = block_plan(config, 0);
  const bool has_layers = !config.norm_weights && config.embedding_norm && config.qk_norm_last &&
                          config.rope.reversed && !config.gated_mlp;
  return first_refusal(
      {{!config.windows.empty(), kOtherWindows},
       {plan.qkv_bias != plan.attention_output_bias || plan.mlp_bias, kOtherBiases},
       {!has_layers, kOtherLayers},
       {true, refusal_of_llama_layers(plain)}});
}

Json nanochat_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "nanochat", "NanoChatForCausalLM");
  json["attention_bias"] = block_plan(config, 0).qkv_bias;
  json["final_logit_softcapping"] = cap_json(config.logit_cap);
  return json;
}

constexpr Choice<Part> kNanochatNames[] = {{"mlp.fc1", Part::mlp_in}, {"mlp.fc2", Part::mlp_out}};

std::vector<StoredTensor> nanochat_tensors(const Weight& weight, const GptConfig& config) {
  return renamed_llama_tensors(weight, config, kNanochatNames);
}

}  // namespace

const ModelFamily kNanochat{.type = "nanochat",
                            .layout = llama_layout(nanochat_tensors),
                            .read_config = read_nanochat,
                            .refusal = refusal_of_nanochat,
                            .config_json = nanochat_json};

}  // namespace headlight
