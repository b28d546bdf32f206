#pragma once

#include <optional>
#include <string_view>

#include "formats/families/families.h"

// Layers of Llama (Touvron et al., arXiv 2302.13971), which many families share: their
// configuration, their tensors, and the models that they can express.
namespace headlight {

// Default values of transformers for keys that a config.json lacks.
struct LlamaDefaults {
  Index vocabulary = 32000;
  Index block = 2048;
  Index width = 4096;
  Index layers = 32;
  Index heads = 32;
  Index key_heads = 0;   // 0: the number of heads, as for null
  Index head_width = 0;  // 0: n_embd / n_head, as for null
  Index inner = 11008;
  double epsilon = 1e-6;
  const char* activation = "silu";
  bool tied = false;
  double theta = 10000;
  std::optional<double> share = {};  // rotated share of a head; none: only 1 is supported
  Index longrope_original = 0;       // usual original context for longrope; 0: not allowed
  const char* epsilon_key = "rms_norm_eps";
  std::string_view null_keys = "num_key_value_heads";  // keys that may be null, as in transformers

  // Returns the reader of a key, to which null counts as missing if the key may be null.
  ConfigReader reader_of(const char* key, const ConfigReader& reader) const;
  // Usual theta of layers with a window, whose rotation is one of its own; none: all layers have
  // the same.
  std::optional<double> local_theta = {};
};

GptConfig read_llama_layers(const ConfigReader& reader, const LlamaDefaults& defaults);

// Returns the reason if Llama's layers cannot express the model, whatever its biases, windows and
// norms of queries and keys; "" otherwise.
std::string refusal_of_llama_layers(const GptConfig& config);

// Returns the keys for read_llama_layers().
Json llama_layers_json(const GptConfig& config, const char* type, const char* architecture,
                       const char* epsilon_key = "rms_norm_eps");
// Returns the name that new families use for an activation.
std::string activation_name(Activation activation);
// Adds the keys of windows in some layers.
void add_windows(const GptConfig& config, Json& json);
// Adds partial_rotary_factor, also for whole heads.
void add_rotary_share(const GptConfig& config, Json& json);

// Reads a soft cap: 0 if it is null.
double read_cap(const ConfigReader& reader, const char* key, double fallback);
Json cap_json(double cap);
// Returns the value of query_pre_attn_scalar, 1 / scale^2.
Json query_scalar_json(const AttentionPlan& plan);

// Throws Error about head_dim unless all heads together are as wide as the model.
void require_heads_of_model_width(const GptConfig& config);

// True if biases are exactly on queries, keys and values (`qkv`) or nowhere.
bool has_only_qkv_bias(const GptConfig& config, bool qkv);

// Returns tensors with the names in the list; other parts have Llama's names.
std::vector<StoredTensor> renamed_llama_tensors(const Weight& weight, const GptConfig& config,
                                                std::span<const Choice<Part>> names);

// Returns tensors with Gemma's names for norms before and after attention and MLP.
std::vector<StoredTensor> output_norm_tensors(const Weight& weight, const GptConfig& config);

WeightLayout llama_layout(
    std::vector<StoredTensor> (*tensors_of)(const Weight&, const GptConfig&) = llama_tensors);

// True if all layers have the same window, or none has one.
bool has_equal_windows(const GptConfig& config);
// Reads sliding_window, which all layers share; none if the key is missing or null.
std::vector<Index> read_equal_windows(const ConfigReader& reader, Index layers);

inline constexpr const char* kOtherLayers = "these layers cannot be expressed";
inline constexpr const char* kOtherBiases = "biases of these layers cannot be expressed together";
inline constexpr const char* kOtherWindows = "windows cannot be expressed";
inline constexpr const char* kQkNorm = "qk_norm cannot be expressed";

}  // namespace headlight
