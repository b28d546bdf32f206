#include "formats/gguf/gguf_config.h"

#include <algorithm>

#include "base/strings/printable.h"
#include "formats/families/families.h"
#include "formats/families/round_trip.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr double kTolerance = 1e-6;  // of numbers that files have as float32

const GgufArchitecture& architecture_of(const GgufFile& file) {
  constexpr std::string_view kKey = "general.architecture";
  const auto* name = std::get_if<std::string>(file.find_value(kKey));
  require_value(name != nullptr, kKey, "is missing");
  std::vector<std::string_view> names;
  for (const ModelFamily* family : model_families()) {
    if (family->gguf && family->gguf->name == *name) {
      return *family->gguf;
    }
    names.push_back(family->gguf ? family->gguf->name : "");
  }
  std::erase(names, "");
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

// Reads or writes the keys that all architectures have. The file's embedding has vocab_size rows.
void size_keys(GgufKeys& keys, GptConfig& config) {
  keys.write_size("vocab_size", config.vocab_size);
  keys.size("context_length", config.block_size);
  keys.size("embedding_length", config.n_embd);
  keys.size("block_count", config.n_layer);
  keys.size("feed_forward_length", config.n_inner);
  keys.size("attention.head_count", config.n_head);
  keys.write_size("attention.head_count_kv", config.n_kv_head);
  if (keys.writes()) {
    return;
  }
  config.vocab_size = keys.read_integer("vocab_size", config.vocab_size);
  require_value(config.n_layer <= kMostLayers, keys.whole("block_count"), "expected 1 to ",
                kMostLayers, ", got ", config.n_layer);
  config.n_kv_head = keys.read_integer("attention.head_count_kv", config.n_head);
  require_value(config.n_kv_head > 0 && config.n_head % config.n_kv_head == 0,
                keys.whole("attention.head_count_kv"), "expected a divisor of ", config.n_head,
                " heads, got ", config.n_kv_head);
  config.head_width = keys.read_integer("attention.key_length", config.n_embd / config.n_head);
  require_value(config.head_width > 0, keys.whole("attention.key_length"),
                "expected a number from 1, got ", config.head_width);
  const Index values = keys.read_integer("attention.value_length", config.head_width);
  require_value(values == config.head_width, keys.whole("attention.value_length"), "expected ",
                config.head_width, ", the width of keys, got ", values);
  require_value(keys.read_boolean("attention.causal", true), keys.whole("attention.causal"),
                "expected true, got false");
}

// Writes the keys of a model, and changes it to the one that llama.cpp would compute.
GgufKeys written_keys(const GgufArchitecture& architecture, GptConfig& config) {
  config = spelled_out(config);
  GgufKeys keys(architecture.name);
  size_keys(keys, config);
  architecture.keys(keys, config);
  return keys;
}

// Throws Error unless the shape of the embedding is that of the keys.
void check_embedding(const GgufTensor& embedding, const GgufKeys& keys, const GptConfig& config) {
  require_value(config.vocab_size == embedding.shape[0], keys.whole("vocab_size"), "expected ",
                embedding.shape[0], ", the rows of ", kGgufEmbedding, ", got ", config.vocab_size);
  require_value(config.n_embd == embedding.shape[1], keys.whole("embedding_length"), "expected ",
                embedding.shape[1], ", the width of tensor '", kGgufEmbedding, "', got ",
                config.n_embd);
}

// Returns why llama.cpp's architecture cannot compute the model of a family.
Refusal refusal_of(const GgufArchitecture& architecture, const GptConfig& config) {
  const std::string reader = concat_text(architecture.name, " of llama.cpp");
  return round_trip_refusal(config, kTolerance, reader, [&] {
    GptConfig written = config;
    GgufKeys keys = written_keys(architecture, written).read_again();
    GptConfig again;
    size_keys(keys, again);
    architecture.keys(keys, again);
    // Files have no dropouts. The others follow from weights: ModelWeights::infer_missing_fields.
    again.attention_dropout = config.attention_dropout;
    again.residual_dropout = config.residual_dropout;
    again.embedding_dropout = config.embedding_dropout;
    again.tie_weights = written.tie_weights;
    again.bias = architecture.layout.has_all_biases ? config.bias : again.bias;
    return again;
  });
}

}  // namespace

GgufModel read_gguf_model(const GgufFile& file) {
  return in_place(shown(file.path()) + ": ", [&] {
    const GgufArchitecture& architecture = architecture_of(file);
    const GgufTensor* embedding = file.find_tensor(kGgufEmbedding);
    require(embedding != nullptr && embedding->shape.rank() == 2, "tensor '", kGgufEmbedding,
            "' of two axes is missing");
    GgufKeys keys(file, architecture.name);
    GptConfig config{.vocab_size = embedding->shape[0]};
    size_keys(keys, config);
    check_embedding(*embedding, keys, config);
    architecture.keys(keys, config);
    config.tie_weights = may_share_head(file);
    keys.require_all_known();
    // Throws Error for sizes that no file could hold.
    keys.read_keys().in_file_keys(keys.whole(""), [&] { count_parameters(config); });
    return GgufModel{&architecture, config.canonical()};
  });
}

const GgufArchitecture& gguf_architecture_for(const GptConfig& config) {
  std::optional<Refusal> nearest;
  bool is_nearest_family = false;  // expresses the model in a config.json
  for (const ModelFamily* family : model_families()) {
    if (!family->gguf) {
      continue;
    }
    Refusal refusal = headlight::refusal_of(*family, config);
    const bool is_family = refusal.keys == 0;
    refusal = is_family ? refusal_of(*family->gguf, config) : refusal;
    if (refusal.keys == 0) {
      return *family->gguf;
    }
    const bool is_nearer = !nearest || (is_family && !is_nearest_family) ||
                           (is_family == is_nearest_family && refusal.keys < nearest->keys);
    if (is_nearer) {
      nearest = std::move(refusal);
      is_nearest_family = is_family;
    }
  }
  const ModelFamily& family = family_for(config);
  fail("gguf: ", nearest->text, is_headlight(family) ? "" : "; --to hf writes ",
       is_headlight(family) ? "" : family.type);
}

GgufMetadata gguf_model_keys(const GgufArchitecture& architecture, const GptConfig& config) {
  GptConfig copy = config;
  return written_keys(architecture, copy).written();
}

}  // namespace headlight
