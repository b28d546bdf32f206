#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/huggingface/config_reader.h"
#include "formats/huggingface/weight_layout.h"
#include "headlight/nn/architecture.h"
#include "headlight/tensor/stored_floats.h"
#include "headlight/tokenizers/tokenizer.h"

// Model families of Hugging Face's transformers that a Gpt can compute. Each family is one file:
// its names, its configuration, and the layout of its matrices.
namespace headlight {

struct ModelFamily {
  std::string_view type;  // model_type in config.json: "gpt2"
  WeightLayout layout;

  // Reads the configuration. Throws Error about a key with an unknown or unsupported value.
  GptConfig (*read_config)(const ConfigReader& reader);
  // Returns why a model cannot be written: "norm = post: GPT-2 has its norms in front"; else "".
  std::string (*refusal)(const GptConfig& config);
  // Returns the keys that are specific to the family.
  Json (*config_json)(const GptConfig& config);
  bool causal = true;  // value of GptConfig::causal in the family's models
  std::span<const KeyAlias> aliases = {};
};

// Reads an activation under `key`; `fallback` is its name if the key is missing.
Activation read_activation(const ConfigReader& reader, const char* key, const char* fallback);

extern const ModelFamily kGpt2;
extern const ModelFamily kGptNeo;
extern const ModelFamily kGptNeoX;
extern const ModelFamily kLlama;
extern const ModelFamily kMistral;
extern const ModelFamily kQwen2;
extern const ModelFamily kQwen3;
extern const ModelFamily kGemma3;
extern const ModelFamily kPhi3;
extern const ModelFamily kStableLm;
extern const ModelFamily kStarcoder2;
extern const ModelFamily kPhi;
extern const ModelFamily kGemma;
extern const ModelFamily kGranite;
extern const ModelFamily kSmolLm3;
extern const ModelFamily kArcee;
extern const ModelFamily kErnie;
extern const ModelFamily kHelium;
extern const ModelFamily kSeedOss;
extern const ModelFamily kOpt;
extern const ModelFamily kOlmo;
extern const ModelFamily kOlmo2;
extern const ModelFamily kOlmo3;
extern const ModelFamily kExaone4;
extern const ModelFamily kGemma2;
extern const ModelFamily kNanochat;
extern const ModelFamily kBert;
// Models that no family can express: GPT-2's names, and keys of Headlight.
extern const ModelFamily kHeadlight;

// Returns the first family that can express the configuration.
const ModelFamily& family_for(const GptConfig& config);

// Returns the whole config.json; `floats` is the type of the weights in the file.
std::string family_config_json(const ModelFamily& family, const GptConfig& config,
                               const Tokenizer& tokenizer, StoredFloats floats);

// Reads a config.json of any family. Throws Error, one line with `name` and the key, for an unknown
// model type, a missing or absurd size, and unsupported options that would change the model's
// function.
struct ModelConfig {
  const ModelFamily* family = nullptr;
  GptConfig config = {};
  std::vector<std::string> unread = {};  // keys without effect that may have a meaning
};
ModelConfig parse_model_config(std::string_view json, std::string_view name);

// Functions that several families share.

// Reads sliding_window: 0 if it is null, `fallback` if it is missing.
Index read_window(const ConfigReader& reader, Index fallback);
// Returns the window of each layer, 0 for none. layer_types decides if present, else `sliding`.
std::vector<Index> layer_windows(const ConfigReader& reader, const std::vector<bool>& sliding,
                                 Index window);
Json layer_types_json(const GptConfig& config);
// Returns the common window of all layers with a window; 0 if they differ or there is none.
Index common_window(const GptConfig& config);
// Returns the tensors of a weight whose part has a name in the list: "LAYERS3.NAME.weight", or
// "NAME.weight" outside of layers. Three names, separated by blanks, belong to the queries, keys
// and values. A part without a name is one tensor with our name.
std::vector<StoredTensor> named_tensors(const Weight& weight, const GptConfig& config,
                                        std::string_view layers,
                                        std::span<const Choice<Part>> names);
// Returns the first text whose condition holds and which is not empty; "" if there is none.
struct Refusal {
  bool holds;
  std::string text;
};
std::string first_refusal(const std::vector<Refusal>& refusals);
// Returns the reason if the model has parts that few families have: soft caps, norms without
// weights or after the embedding, limits of queries, keys and values, and other rotations.
std::string refusal_of_rare_parts(const GptConfig& config);
// True if the head has neither a bias nor a scale.
bool has_plain_head(const GptConfig& config);
inline constexpr const char* kOtherHead = "head_bias and logit_scale cannot be expressed";
// Returns tensors with Llama's names. Gemma's names differ only for norms.
std::vector<StoredTensor> llama_tensors(const Weight& weight, const GptConfig& config);

}  // namespace headlight
