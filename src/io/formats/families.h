#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/nn/architecture.h"
#include "headlight/text/tokenizer.h"
#include "io/formats/config_reader.h"
#include "io/formats/weight_layout.h"

// The kinds of models that Hugging Face's transformers knows, as far as a Gpt can compute them. A
// family is one file here: its names, its configuration, and how its matrices lie.
namespace headlight {

struct ModelFamily {
  std::string_view type;  // in config.json: "gpt2"
  WeightLayout layout;

  // Throws Error about a key whose value is not known, or would change the function of the model.
  GptConfig (*read_config)(const ConfigReader& reader);
  // Why a model cannot be written, "norm = post: GPT-2 has its norms in front"; empty: it can.
  std::string (*refusal)(const GptConfig& config);
  // The keys that are the family's own.
  Json (*config_json)(const GptConfig& config);
};

// Of `key`, with the name that is usual where there is none.
Activation read_activation(const ConfigReader& reader, const char* key, const char* usual);

extern const ModelFamily kGpt2;
extern const ModelFamily kGptNeo;
extern const ModelFamily kGptNeoX;
extern const ModelFamily kLlama;
extern const ModelFamily kMistral;
extern const ModelFamily kQwen2;
extern const ModelFamily kQwen3;
extern const ModelFamily kGemma3;
// What no family can express: GPT-2's names, and keys of our own.
extern const ModelFamily kHeadlight;

// The first that can express the configuration.
const ModelFamily& family_for(const GptConfig& config);

// Throws Error, one line that begins with "hf: " and says what stands in the way, when none but
// kHeadlight can.
void require_family(const GptConfig& config);

// The whole config.json.
std::string family_config_json(const ModelFamily& family, const GptConfig& config,
                               const Tokenizer& tokenizer);

// Reads a config.json of any family. Throws Error, one line that begins with `name` and says the
// key, for another model type, a size that is missing or not sensible, and options that would
// change the function of the model and are not supported.
struct ModelConfig {
  const ModelFamily* family = nullptr;
  GptConfig config = {};
  std::vector<std::string> unread = {};  // keys that may mean something, and have no effect here
};
ModelConfig parse_model_config(std::string_view json, std::string_view name);

// What several families share.

// Throws Error about the key for what no model has.
Index read_layer_count(const ConfigReader& reader, const char* key, Index usual);
// sliding_window: 0 where the file says null, `usual` where it says nothing.
Index read_window(const ConfigReader& reader, Index usual);
// Of each layer, as layer_types says where it is there, else for the layers that are `sliding`.
std::vector<Index> layer_windows(const ConfigReader& reader, const std::vector<bool>& sliding,
                                 Index window);
Json layer_types_json(const GptConfig& config);
// The window of the layers that have one; 0: they have different ones, or there is none.
Index common_window(const GptConfig& config);
// "layers.3.NAME.weight", outside of layers "NAME.weight".
std::string name_in_layer(const Weight& weight, const std::string& name);
// Of a query_key_value that lies in three tensors.
std::vector<StoredTensor> query_key_value_tensors(const Weight& weight, const GptConfig& config,
                                                  const std::vector<std::string>& names);
// Llama's names; Gemma's are the same but for norms.
std::vector<StoredTensor> llama_tensors(const Weight& weight, const GptConfig& config);

}  // namespace headlight
