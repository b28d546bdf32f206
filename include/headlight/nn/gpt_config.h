#pragma once

#include <optional>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/nn/head_layout.h"
#include "headlight/nn/layers.h"
#include "headlight/ops/rope.h"

namespace headlight {

enum class NormPosition {
  pre,   // x + f(norm(x)), with a final norm: GPT-2
  post,  // norm(x + f(x)): Vaswani et al.
};

template <>
inline constexpr auto kChoices<NormPosition> =
    std::to_array<Choice<NormPosition>>({{"pre", NormPosition::pre}, {"post", NormPosition::post}});

// How a model knows where a token stands.
enum class PositionKind {
  learned,  // a vector for every position: GPT-2
  rope,     // queries and keys are turned by their positions
  none,     // from what attention can see alone
};

template <>
inline constexpr auto kChoices<PositionKind> =
    std::to_array<Choice<PositionKind>>({{"learned", PositionKind::learned},
                                         {"rope", PositionKind::rope},
                                         {"none", PositionKind::none}});

inline constexpr Index kMostLayers = 4096;
// Of all layers: lists of heads are made before weights are at hand that could contradict them.
inline constexpr Index kMostHeads = Index{1} << 20;
// Far above any model that a CPU can train; keeps products of two sizes inside 64 bits.
inline constexpr Index kLargestSize = Index{1} << 24;

// The shape of a GPT. Names and meaning follow nanoGPT and GPT-2.
struct GptConfig {
  Index vocab_size = 0;     // V
  Index block_size = 1024;  // longest sequence
  Index n_layer = 12;       // L
  Index n_head = 12;        // H
  Index n_embd = 768;       // C
  double attention_dropout = 0;
  double residual_dropout = 0;
  double embedding_dropout = 0;
  bool bias = true;  // in linear layers and layer norms
  // In some of the linear layers; none: as `bias` says.
  std::optional<bool> qkv_bias = {};
  std::optional<bool> attention_output_bias = {};
  std::optional<bool> mlp_bias = {};
  bool tie_weights = true;     // the head shares the token embedding
  double embedding_scale = 0;  // token embeddings are multiplied by it; 0: they are not
  NormPosition norm = NormPosition::pre;
  NormKind norm_type = NormKind::layer;
  bool norm_gain_plus_one = false;  // gains are 1 + weight: Gemma
  bool output_norms = false;        // what attention and MLP put out is normalised too; norm = pre
  PositionKind position = PositionKind::learned;
  RopeOptions rope = {};        // of position = rope
  double rope_local_theta = 0;  // layers with a window: theta there, unscaled; 0: as everywhere
  // Attention and MLP of a layer read the same residual stream, instead of the MLP what attention
  // has added to it; with norm = pre. GPT-NeoX, Black et al., arXiv 2204.06745.
  bool parallel_residual = false;
  bool shared_norm = false;  // parallel_residual: of both, behind one norm
  Activation activation = Activation::gelu_tanh;
  bool mlp = true;         // false: layers are attention alone
  bool gated_mlp = false;  // activation(gate x) * in x: Shazeer, arXiv 2002.05202
  Index n_inner = 0;       // I, the inner width of MLPs; 0: 4 C
  double layer_norm_epsilon = 1e-5;
  // Heads of each layer, for models whose heads were pruned; empty: n_head everywhere.
  std::vector<Index> heads_per_layer = {};
  Index head_width = 0;  // D; 0: C / H
  // G, heads of keys and values, each shared by H / G query heads in a row; 0: H.
  Index n_kv_head = 0;
  // Of each layer how many of its heads in a row share each head of keys and values, for models
  // whose heads were pruned; empty: as n_kv_head says.
  std::vector<std::vector<Index>> key_groups = {};
  // Of each layer the keys that a query sees at most, its own included, 0: all; empty: all
  // everywhere.
  std::vector<Index> windows = {};
  double attention_scale = 0;  // of the scores; 0: 1 / sqrt(D)
  bool qk_norm = false;        // queries and keys are normalised head by head, before they turn
  // The numbers that the heads of each layer are known by, rising: those that they had before
  // others were pruned. Empty: 0, 1, 2 ... in every layer.
  std::vector<std::vector<Index>> head_numbers = {};
  // Numbers of the key heads of each layer. Empty: 0, 1, 2 ... where query heads share key heads,
  // else the numbers of the query heads.
  std::vector<std::vector<Index>> key_head_numbers = {};

  Index heads(Index layer) const;
  // Returns D, the elements of a head. Needs n_head of 1 or more.
  Index elements_of_head() const;
  HeadLayout head_layout() const;
  // Of its norms, over vectors of a width.
  NormOptions norm_options(Index width, DType dtype) const;
  // Without what it says twice, so that equal models have equal configurations.
  GptConfig canonical() const;
  // Throws Error for sizes that are not positive, not sensible or do not divide.
  void validate() const;
};

}  // namespace headlight
