#pragma once

#include <optional>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/kernels/activation.h"
#include "headlight/nn/head_layout.h"
#include "headlight/nn/norm_options.h"
#include "headlight/ops/rope.h"

namespace headlight {

enum class NormPosition {
  pre,     // x + f(norm(x)), with a final norm: GPT-2
  post,    // norm(x + f(x)): Vaswani et al.
  output,  // x + norm(f(x)), with a final norm: OLMo 2 (arXiv 2501.00656)
};

template <>
inline constexpr auto kChoices<NormPosition> = std::to_array<Choice<NormPosition>>(
    {{"pre", NormPosition::pre}, {"post", NormPosition::post}, {"output", NormPosition::output}});

// Encoding of token positions.
enum class PositionKind {
  learned,  // a vector for every position: GPT-2
  rope,     // queries and keys are rotated by their positions
  none,     // only through the causal mask
};

template <>
inline constexpr auto kChoices<PositionKind> =
    std::to_array<Choice<PositionKind>>({{"learned", PositionKind::learned},
                                         {"rope", PositionKind::rope},
                                         {"none", PositionKind::none}});

inline constexpr Index kMostLayers = 4096;
// Limit over all layers: lists of heads are created before weights are read that could differ.
inline constexpr Index kMostHeads = Index{1} << 20;
// Far above any model that a CPU can train; products of two sizes fit into 64 bits.
inline constexpr Index kLargestSize = Index{1} << 24;

// The shape of a GPT. Names follow nanoGPT and GPT-2.
struct GptConfig {
  Index vocab_size = 0;     // V
  Index block_size = 1024;  // maximum sequence length
  Index n_layer = 12;       // L
  Index n_head = 12;        // H
  Index n_embd = 768;       // C
  double attention_dropout = 0;
  double residual_dropout = 0;
  double embedding_dropout = 0;
  bool bias = true;  // in linear layers and layer norms
  // Biases of some linear layers; none: the value of `bias`.
  std::optional<bool> qkv_bias = {};
  std::optional<bool> attention_output_bias = {};
  std::optional<bool> mlp_bias = {};
  bool tie_weights = true;     // the head shares the token embedding
  bool head_bias = false;      // the head has a bias
  double logit_scale = 0;      // factor of the logits, before the bias; 0: none
  double logit_cap = 0;        // soft cap of the logits: cap tanh(logit / cap); 0: none
  double embedding_scale = 0;  // factor of token embeddings; 0: none
  // Granite's residual stream and its additions, divided by Headlight's; 0: 1. Only hooks
  // that are in_family_units() see it.
  double residual_multiplier = 0;
  NormPosition norm = NormPosition::pre;
  NormKind norm_type = NormKind::layer;
  bool norm_gain_plus_one = false;  // gains are 1 + weight: Gemma
  bool output_norms = false;        // norms on the outputs of attention and MLP; needs norm = pre
  bool norm_weights = true;         // false: norms have neither gain nor shift
  PositionKind position = PositionKind::learned;
  RopeOptions rope = {};        // for position = rope
  double rope_local_theta = 0;  // unscaled theta in layers with a window; 0: as in other layers
  // For each layer, 1 if queries and keys are rotated, else 0; empty: in every layer. For position
  // = rope.
  std::vector<Index> rope_per_layer = {};
  // Attention and MLP of a layer read the same residual stream, instead of the MLP reading the sum
  // after attention; needs norm = pre. GPT-NeoX, Black et al., arXiv 2204.06745.
  bool parallel_residual = false;
  bool shared_norm = false;  // parallel_residual: one norm for both branches
  Activation activation = Activation::gelu_tanh;
  bool mlp = true;         // false: layers have only attention
  bool gated_mlp = false;  // activation(gate x) * in x: Shazeer, arXiv 2002.05202
  Index n_inner = 0;       // I, the inner width of MLPs; 0: 4 C
  double layer_norm_epsilon = 1e-5;
  // Heads of each layer of a pruned model; empty: n_head everywhere.
  std::vector<Index> heads_per_layer = {};
  Index head_width = 0;  // D; 0: C / H
  // G, heads of keys and values, each shared by H / G consecutive query heads; 0: H.
  Index n_kv_head = 0;
  // For each layer of a pruned model, how many consecutive heads share each key head; empty: as
  // n_kv_head says.
  std::vector<std::vector<Index>> key_groups = {};
  // For each layer, the maximum number of keys a query sees, including its own, 0: all; empty: all
  // in every layer.
  std::vector<Index> windows = {};
  double attention_scale = 0;  // factor of the scores; 0: 1 / sqrt(D)
  double attention_cap = 0;    // soft cap of the scaled scores: cap tanh(score / cap); 0: none
  double qkv_clip = 0;         // largest magnitude of queries, keys and values; 0: no limit
  bool qk_norm = false;        // queries and keys are normalised, head by head, before rotation
  bool qk_norm_whole = false;  // qk_norm: over all heads together
  bool qk_norm_last = false;   // qk_norm: after rotation
  // True: a token attends to itself and the tokens before it. False: to all tokens of its sequence,
  // as in BERT (Devlin et al., arXiv 1810.04805).
  bool causal = true;
  Index n_segment = 0;          // rows of the segment embedding; every token gets row 0; 0: none
  bool embedding_norm = false;  // a norm after the sum of the embeddings
  // The head predicts masked tokens: head weight * norm(activation(dense x)) + bias. Needs causal =
  // false and norm = post. A model without causal and masked_head has no head.
  bool masked_head = false;
  // Original numbers of the heads of each layer of a pruned model, rising. Empty: 0, 1, 2 ... in
  // every layer.
  std::vector<std::vector<Index>> head_numbers = {};
  // Numbers of the key heads of each layer. Empty: 0, 1, 2 ... where query heads share key heads,
  // else the numbers of the query heads.
  std::vector<std::vector<Index>> key_head_numbers = {};

  Index heads(Index layer) const;
  // Returns D, the elements of a head. Needs n_head of 1 or more.
  Index elements_of_head() const;
  HeadLayout head_layout() const;
  // Returns the options of norms over vectors of this width.
  NormOptions norm_options(Index width, DType dtype) const;
  // Returns whether the outputs of attention and MLP have norms.
  bool has_output_norms() const { return output_norms || norm == NormPosition::output; }
  // Returns whether the residual stream has a norm after the last layer.
  bool has_final_norm() const { return norm != NormPosition::post; }
  // True if logits have a meaning: false for the body of a bidirectional model.
  bool has_head() const { return causal || masked_head; }
  // Throws Error unless has_head(), for predictions.
  void require_head() const;
  bool has_head_bias() const { return head_bias || masked_head; }
  // Returns the factor of token embeddings.
  double embedding_factor() const { return embedding_scale > 0 ? embedding_scale : 1; }
  // Returns whether the queries and keys of a layer are rotated.
  bool rotates(Index layer) const;
  // Returns the configuration without redundant values, which is equal for equal models.
  GptConfig canonical() const;
  // Throws Error for sizes that are out of range or do not divide.
  void validate() const;
};

}  // namespace headlight
