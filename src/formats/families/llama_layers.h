#pragma once

#include <optional>
#include <string_view>

#include "formats/families/families.h"
#include "formats/families/layer_keys.h"
#include "formats/gguf/gguf_layers.h"

// Layers of Llama (Touvron et al., arXiv 2302.13971), which many families share: their keys and
// their tensors.
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
  // Usual theta of layers with a window, whose rotation is one of its own; none: all layers have
  // the same.
  std::optional<double> local_theta = {};
};

// Reads or writes the keys of Llama's layers, and sets the fields that have none.
void llama_layers(const ConfigKeys& keys, GptConfig& config, const LlamaDefaults& defaults);
// Reads or writes attention_bias, the biases of attention's matrices.
void attention_biases(const ConfigKeys& keys, GptConfig& config);
// Reads or writes use_sliding_window, sliding_window and layer_types. If windows are on,
// `is_sliding` decides which layers have one.
void optional_windows(const ConfigKeys& keys, GptConfig& config, Index fallback,
                      const std::function<bool(Index layer)>& is_sliding);
// Reads or writes sliding_window, which all layers share; none if the key is missing or null.
void equal_windows(const ConfigKeys& keys, GptConfig& config);
// Reads or writes sliding_window and layer_types. Without layer_types every `pattern`-th layer has
// no window.
void patterned_windows(const ConfigKeys& keys, GptConfig& config, Index pattern);
inline constexpr Index kPatternedWindow = 4096;  // usual sliding_window
// Throws Error about head_dim unless all heads together are as wide as the model.
void require_heads_of_model_width(const GptConfig& config);

// Return the tensors of a weight with Llama's names, and those that are renamed by a list.
std::vector<StoredTensor> llama_tensors(const Weight& weight, const GptConfig& config);
std::vector<StoredTensor> renamed_llama_tensors(const Weight& weight, const GptConfig& config,
                                                std::span<const PartNames> names);
// Returns tensors with Gemma's names for norms before and after attention and MLP.
std::vector<StoredTensor> output_norm_tensors(const Weight& weight, const GptConfig& config);

using TensorsOf = std::vector<StoredTensor> (*)(const Weight&, const GptConfig&);
WeightLayout llama_layout(TensorsOf tensors_of = llama_tensors);

}  // namespace headlight
