#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/nn/gpt_config.h"
#include "headlight/tensor/shape.h"

// The list of a GPT's weights, from its configuration. Used for counting, initialising, rounding,
// pruning, packing, writing and reading weights.
namespace headlight {

// A component of the network that has weights.
enum class Part {
  token_embedding,
  position_embedding,
  segment_embedding,  // n_segment only
  embedding_norm,     // embedding_norm only
  attention_norm,     // attention_norm and mlp_norm: not with norm = output
  query_key_value,
  attention_output,
  query_norm,  // query_norm and key_norm: qk_norm only
  key_norm,
  attention_output_norm,  // attention_output_norm and mlp_output_norm: has_output_norms() only
  mlp_norm,
  mlp_in,
  mlp_gate,  // gated_mlp only
  mlp_out,
  mlp_output_norm,
  final_norm,
  head_transform,  // head_transform and head_norm: masked_head only
  head_norm,
  head,  // untied only; otherwise the token embedding is used
};

inline constexpr std::size_t kPartCount = static_cast<std::size_t>(Part::head) + 1;

// Returns the name of a part in Hugging Face's GPT-2, without the layer: "attn.c_attn".
const char* part_name(Part part);

// Initial values of a weight.
enum class Start {
  zeros,
  ones,
  normal,    // N(0, 0.02)
  residual,  // N(0, 0.02 / sqrt(2 L)): projections onto the residual stream
};

// Division of a weight among the heads of a layer.
enum class HeadAxis {
  none,
  query_key_value,  // axis 0: queries, keys and values in this order, each head by head
  output,           // axis 1, head by head
};

inline constexpr Index kNoLayer = -1;

// Description of a tensor of a model.
struct Weight {
  std::string name = {};  // in Gpt::parameters(): "h.3.attn.c_attn.weight"
  Shape shape = {};
  Part part = Part::token_embedding;
  bool is_bias = false;  // in a norm: the shift
  Index layer = kNoLayer;
  Start start = Start::zeros;
  bool multiplied = false;  // a matrix that multiplies the vector of every token
  HeadAxis heads = HeadAxis::none;
};

// Returns all weights of a Gpt with this configuration, in the order of Gpt::parameters().
// Allocates no tensors. Throws Error for an invalid configuration.
std::vector<Weight> weights_of(const GptConfig& config);

// Returns true for a weight matrix inside a layer, not for embeddings or the head.
bool is_hidden_matrix(const Weight& weight);

// A hidden matrix [outputs, inputs] of any model.
struct HiddenMatrix {
  std::string name;  // among the model's parameters
  // Numbers of rows of stacked matrices that count as separate; empty: a single matrix.
  std::vector<Index> blocks = {};
};

// Returns names and blocks of a Gpt's hidden matrices, in the order of weights_of(). Query, key and
// value are three blocks of one matrix. Throws Error for an invalid configuration.
std::vector<HiddenMatrix> hidden_matrices_of(const GptConfig& config);

// Shape and options of a layer's attention.
struct AttentionPlan {
  Index heads = 1;                       // H
  Index key_heads = 0;                   // G, heads of keys and values
  Index head_width = 0;                  // D
  Index window = 0;                      // maximum keys a query sees, including its own; 0: all
  bool causal = true;                    // GptConfig::causal
  double scale = 0;                      // factor of the scores; 0: 1 / sqrt(D)
  double cap = 0;                        // GptConfig::attention_cap
  std::optional<RopeOptions> rope = {};  // rotation of queries and keys by position
  // [G], rising: key head g serves the heads from key_ends[g - 1] to key_ends[g] - 1. Empty: H / G
  // consecutive heads for each.
  std::vector<Index> key_ends = {};

  Index inner_width() const { return heads * head_width; }             // H D
  Index key_width() const { return key_heads * head_width; }           // G D
  Index qkv_width() const { return inner_width() + 2 * key_width(); }  // (H + 2 G) D
  // Returns where queries (part 0), keys (1) or values (2) begin in a row of [qkv_width()].
  Index part_begin(Index part) const {
    return part == 0 ? 0 : inner_width() + (part - 1) * key_width();
  }
  Index part_heads(Index part) const { return part == 0 ? heads : key_heads; }
  // Returns the key head that serves a query head.
  Index key_head(Index head) const;
};

// Computation of a layer, for every implementation; see nn/block_order.h.
struct BlockPlan {
  NormPosition norm = NormPosition::pre;
  bool parallel = false;     // GptConfig::parallel_residual
  bool shared_norm = false;  // one norm for both branches
  AttentionPlan attention = {};
  std::optional<Index> mlp_width = {};  // inner width of the MLP; none: no MLP
  bool qkv_bias = true;
  bool attention_output_bias = true;
  bool mlp_bias = true;
};

BlockPlan block_plan(const GptConfig& config, Index layer);

// Numbers of parameters of a Gpt by part. Counting allocates no tensors.
struct ParameterCounts {
  Index token_embedding = 0;     // V C
  Index position_embedding = 0;  // block_size C
  Index attention = 0;           // all layers; of one layer with H D = C: 4 C^2 + 4 C
  Index mlp = 0;                 // all layers; of one layer: 8 C^2 + 5 C; 0 without MLPs
  Index norms = 0;               // 2 C each
  Index head = 0;                // 0 when tied

  Index total() const {
    return token_embedding + position_embedding + attention + mlp + norms + head;
  }
};

// Throws Error for an invalid configuration or more than 2^48 parameters.
ParameterCounts count_parameters(const GptConfig& config);

// Returns the floating-point operations of the matrix products of one training step; a multiply-add
// counts as two. They are 6 W N for the W weights of matrices, plus 12 H D P a layer for attention.
// P is the number of pairs of query and visible key (Chowdhery et al., arXiv 2204.02311, appendix
// B, but without pairs that masks and windows exclude). offsets [B + 1] as in Batch: only real
// tokens count. Throws Error for an invalid configuration.
double training_flops(const GptConfig& config, const std::vector<Index>& offsets);

// Returns training_flops() for one token that sees block_size tokens, or its layer's window.
double training_flops_per_token(const GptConfig& config);

}  // namespace headlight
