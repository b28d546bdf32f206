#pragma once

#include <vector>

#include "formats/families/layer_keys.h"
#include "formats/gguf/gguf_architecture.h"

// What architectures of llama.cpp share: their keys, their tensors, and the limits of llama.cpp.
namespace headlight {

// Names of tensors in Llama, and in all architectures of llama.cpp.
inline constexpr PartNames kLlamaNames[] = {
    {Part::token_embedding, "embed_tokens", "token_embd"},
    {Part::position_embedding, "", "position_embd"},
    {Part::attention_norm, "input_layernorm", "attn_norm"},
    {Part::query_key_value, "self_attn.q_proj self_attn.k_proj self_attn.v_proj",
     "attn_q attn_k attn_v"},
    {Part::attention_output, "self_attn.o_proj", "attn_output"},
    {Part::query_norm, "self_attn.q_norm", "attn_q_norm"},
    {Part::key_norm, "self_attn.k_norm", "attn_k_norm"},
    {Part::attention_output_norm, "post_attention_layernorm", "post_attention_norm"},
    {Part::mlp_norm, "post_attention_layernorm", "ffn_norm"},
    {Part::mlp_gate, "mlp.gate_proj", "ffn_gate"},
    {Part::mlp_in, "mlp.up_proj", "ffn_up"},
    {Part::mlp_out, "mlp.down_proj", "ffn_down"},
    {Part::mlp_output_norm, "post_feedforward_layernorm", "post_ffw_norm"},
    {Part::final_norm, "norm", "output_norm"},
    {Part::head, "lm_head", "output"}};

// Return the tensors of a weight: with queries, keys and values apart; in one tensor; and apart,
// with the rows of queries and keys in the order of rotations of neighbours.
std::vector<StoredTensor> gguf_split(const Weight& weight, const GptConfig& config);
std::vector<StoredTensor> gguf_fused(const Weight& weight, const GptConfig& config);
std::vector<StoredTensor> gguf_interleaved(const Weight& weight, const GptConfig& config);
WeightLayout gguf_layout(std::vector<StoredTensor> (*tensors_of)(const Weight&,
                                                                 const GptConfig&) = gguf_split);

// Reads or writes the keys of Llama's layers.
void gguf_rms_layers(GgufKeys& keys, GptConfig& config);
// Reads or writes these keys for layers without windows, whose heads are rotated as a whole.
void gguf_plain_layers(GgufKeys& keys, GptConfig& config);
// Reads or writes the keys of layer norms.
void gguf_layer_norms(GgufKeys& keys, GptConfig& config);

// Reads or writes the common window of the layers that have one; `fallback` if the key is missing.
Index gguf_window(GgufKeys& keys, const GptConfig& config, Index fallback);
// Reads or writes the windows of all layers but each `pattern`-th.
struct GgufWindows {
  Index window = 0;  // usual value
  Index pattern = 1;
};
void gguf_windows(GgufKeys& keys, GptConfig& config, const GgufWindows& usual);
// Returns `value` for each layer, but 0 for each `pattern`-th; `pattern` 0: for none.
std::vector<Index> except_each(Index pattern, Index layers, Index value);

// Writes no biases of attention, which the architecture lacks in llama.cpp.
void without_attention_biases(GgufKeys& keys, GptConfig& config);

// Throw Error in reading, about the key, for heads that are rotated in part; for key heads that
// heads share; and for a window shorter than the context, which llama.cpp would ignore.
void require_whole_heads(GgufKeys& keys, const GptConfig& config);
void require_own_key_heads(GgufKeys& keys, const GptConfig& config);
void require_idle_window(GgufKeys& keys, const GptConfig& config);

}  // namespace headlight
