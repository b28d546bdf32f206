#include "formats/gguf/gguf_config.h"

#include <algorithm>

#include "base/strings/printable.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

// Returns why llama.cpp's architecture cannot compute a model's function; "" if it can.
std::string refusal_of(const GgufArchitecture& architecture, const GptConfig& config) {
  const bool lacks_llama3 =
      config.rope.scaling == RopeScaling::llama3 && &architecture.family != &kLlama;
  return first_refusal(
      {{true, architecture.family.refusal(config)},
       {true, architecture.own_refusal == nullptr ? "" : architecture.own_refusal(config)},
       {config.activation != architecture.activation,
        concat_text("activation = ", name_of(config.activation), " cannot be expressed: ",
                    architecture.name, " of llama.cpp has ", name_of(architecture.activation))},
       {config.rope.scaling == RopeScaling::yarn,
        "rope_scaling = yarn cannot be expressed in GGUF files that Headlight writes"},
       {config.rope.scaling == RopeScaling::dynamic,
        "rope_scaling = dynamic cannot be expressed: llama.cpp has none"},
       {lacks_llama3,
        "rope_scaling = llama3 cannot be expressed: in llama.cpp only llama has it"}});
}

const GgufArchitecture& architecture_of(const GgufFile& file) {
  constexpr std::string_view kKey = "general.architecture";
  const auto* name = std::get_if<std::string>(file.find_value(kKey));
  require_value(name != nullptr, kKey, "is missing");
  std::vector<std::string_view> names;
  for (const GgufArchitecture& architecture : gguf_architectures()) {
    if (architecture.name == *name) {
      return architecture;
    }
    names.push_back(architecture.name);
  }
  fail_value(kKey, "expected ", listed(names), ", got ", in_quotes(*name));
}

// True if the head may equal the token embedding: same type, shape and first row, or no head.
bool may_share_head(const GgufFile& file) {
  const GgufTensor* embedding = file.find_tensor(kGgufEmbedding);
  const GgufTensor* head = file.find_tensor(kGgufHead);
  if (head == nullptr) {
    return true;
  }
  if (head->type != embedding->type || head->shape != embedding->shape) {
    return false;
  }
  const std::vector<double> first = file.read_rows(*head, 0, 1).to_vector();
  return first == file.read_rows(*embedding, 0, 1).to_vector();
}

GptConfig read_sizes(GgufKeys& keys, const GgufFile& file) {
  const GgufTensor* embedding = file.find_tensor(kGgufEmbedding);
  require(embedding != nullptr && embedding->shape.rank() == 2, "tensor '", kGgufEmbedding,
          "' of two axes is missing");
  GptConfig config;
  config.vocab_size = embedding->shape[0];
  const Index stated = keys.integer("vocab_size", config.vocab_size);
  require_value(stated == config.vocab_size, keys.whole("vocab_size"), "expected ",
                config.vocab_size, ", the rows of ", kGgufEmbedding, ", got ", stated);
  config.block_size = keys.size("context_length");
  config.n_embd = keys.size("embedding_length");
  require_value(config.n_embd == embedding->shape[1], keys.whole("embedding_length"), "expected ",
                embedding->shape[1], ", the width of tensor '", kGgufEmbedding, "', got ",
                config.n_embd);
  config.n_layer = keys.size("block_count");
  require_value(config.n_layer <= kMostLayers, keys.whole("block_count"), "expected 1 to ",
                kMostLayers, ", got ", config.n_layer);
  config.n_head = keys.size("attention.head_count");
  config.n_kv_head = keys.integer("attention.head_count_kv", config.n_head);
  require_value(config.n_kv_head > 0 && config.n_head % config.n_kv_head == 0,
                keys.whole("attention.head_count_kv"), "expected a divisor of ", config.n_head,
                " heads, got ", config.n_kv_head);
  config.n_inner = keys.size("feed_forward_length");
  config.head_width = keys.integer("attention.key_length", config.n_embd / config.n_head);
  require_value(config.head_width > 0, keys.whole("attention.key_length"),
                "expected a number from 1, got ", config.head_width);
  const Index values = keys.integer("attention.value_length", config.head_width);
  require_value(values == config.head_width, keys.whole("attention.value_length"), "expected ",
                config.head_width, ", the width of keys, got ", values);
  require_value(keys.boolean("attention.causal", true), keys.whole("attention.causal"),
                "expected true, got false");
  config.tie_weights = may_share_head(file);
  return config;
}

}  // namespace

GgufModel read_gguf_model(const GgufFile& file) {
  return in_place(shown(file.path()) + ": ", [&] {
    const GgufArchitecture& architecture = architecture_of(file);
    GgufKeys keys(file, architecture.name);
    GptConfig config = read_sizes(keys, file);
    architecture.read(keys, file, config);
    keys.require_all_known();
    // Throws Error for sizes that no file could hold.
    keys.read_keys().in_file_keys(keys.whole(""), [&] { count_parameters(config); });
    return GgufModel{&architecture, config.canonical()};
  });
}

const GgufArchitecture& gguf_architecture_for(const GptConfig& config) {
  for (const GgufArchitecture& architecture : gguf_architectures()) {
    if (refusal_of(architecture, config).empty()) {
      return architecture;
    }
  }
  require(!kGptNeo.refusal(config).empty(),
          "gguf: llama.cpp has no architecture for GPT-Neo; use --to hf");
  // Reports the reason of the closest architecture.
  std::string_view nearest = config.position == PositionKind::rope ? "gptneox" : "gpt2";
  if (config.norm_type == NormKind::rms) {
    nearest = config.qk_norm ? "qwen3" : "llama";
  }
  if (config.norm_type == NormKind::rms && config.norm_gain_plus_one) {
    nearest = config.qk_norm ? "gemma3" : "gemma2";
  }
  if (config.norm == NormPosition::output) {
    nearest = config.qk_norm_whole ? "olmo2" : "exaone4";
  }
  const auto found = std::ranges::find(gguf_architectures(), nearest, &GgufArchitecture::name);
  fail("gguf: ", refusal_of(*found, config));
}

GgufMetadata gguf_model_keys(const GgufArchitecture& architecture, const GptConfig& config) {
  GgufMetadata metadata{{"general.architecture", std::string(architecture.name)}};
  const BlockPlan plan = block_plan(config, 0);
  GgufKeyWriter keys(architecture.name, metadata);
  keys.size("vocab_size", config.vocab_size);
  keys.size("context_length", config.block_size);
  keys.size("embedding_length", config.n_embd);
  keys.size("block_count", config.n_layer);
  keys.size("feed_forward_length", *plan.mlp_width);
  keys.size("attention.head_count", config.n_head);
  keys.size("attention.head_count_kv", plan.attention.key_heads);
  architecture.write(config, keys);
  return metadata;
}

}  // namespace headlight
