#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/nn/gpt_config.h"
#include "headlight/tensor/shape.h"

// What a GPT of a configuration consists of. Whoever counts, starts, rounds, prunes, packs, writes
// or reads weights walks this one table.
namespace headlight {

// A place in the network that has weights.
enum class Part {
  token_embedding,
  position_embedding,
  attention_norm,
  query_key_value,
  attention_output,
  query_norm,  // qk_norm only, as is the next
  key_norm,
  attention_output_norm,  // output_norms only
  mlp_norm,
  mlp_in,
  mlp_gate,  // gated_mlp only
  mlp_out,
  mlp_output_norm,  // output_norms only
  final_norm,
  head,  // untied only; else the token embedding serves
};

// The name of a part as Hugging Face's GPT-2 has it, in a layer without the layer: "attn.c_attn".
const char* part_name(Part part);

// The values of a weight before training.
enum class Start {
  zeros,
  ones,
  normal,    // N(0, 0.02)
  residual,  // N(0, 0.02 / sqrt(2 L)): of what is added to the residual stream
};

// How the heads of a layer share a weight.
enum class HeadAxis {
  none,
  query_key_value,  // axis 0: queries, keys and values one after the other, each head by head
  output,           // axis 1, head by head
};

inline constexpr Index kNoLayer = -1;

// One tensor of a model.
struct Weight {
  std::string name = {};  // in Gpt::parameters(): "h.3.attn.c_attn.weight"
  Shape shape = {};
  Part part = Part::token_embedding;
  bool is_bias = false;  // the shift, in a norm
  Index layer = kNoLayer;
  Start start = Start::zeros;
  bool multiplied = false;  // a matrix that the vector of every token is multiplied with
  HeadAxis heads = HeadAxis::none;
};

// Everything that a Gpt of this configuration has to learn, in the order of Gpt::parameters();
// nothing is allocated. Throws Error when the configuration does not validate.
std::vector<Weight> weights_of(const GptConfig& config);

// True for a weight matrix inside a layer: no embedding, and not the head.
bool is_hidden_matrix(const Weight& weight);

// A hidden matrix [outputs, inputs] of any model.
struct HiddenMatrix {
  std::string name;  // among the model's parameters
  // Rows of matrices of their own that lie one below the other; empty: it is one.
  std::vector<Index> blocks = {};
};

// Of a Gpt, in the order of weights_of(); query, key and value are three blocks. Throws Error
// when the configuration does not validate.
std::vector<HiddenMatrix> hidden_matrices_of(const GptConfig& config);

// The attention of a layer.
struct AttentionPlan {
  Index heads = 1;                       // H
  Index key_heads = 1;                   // G, of keys and values
  Index head_width = 1;                  // D
  Index window = 0;                      // keys that a query sees at most, its own included; 0: all
  double scale = 0;                      // of the scores; 0: 1 / sqrt(D)
  std::optional<RopeOptions> rope = {};  // queries and keys are turned by their positions
  // [G], rising: the heads below key_ends[g] that are in no group before share key head g. Empty:
  // H / G in a row do.
  std::vector<Index> key_ends = {};

  Index inner_width() const { return heads * head_width; }             // H D
  Index key_width() const { return key_heads * head_width; }           // G D
  Index qkv_width() const { return inner_width() + 2 * key_width(); }  // (H + 2 G) D
  // Where the queries (part 0), keys (1) or values (2) begin in a row of [qkv_width()].
  Index part_begin(Index part) const {
    return part == 0 ? 0 : inner_width() + (part - 1) * key_width();
  }
  Index part_heads(Index part) const { return part == 0 ? heads : key_heads; }
  // The head of keys and values that a head reads.
  Index key_head(Index head) const;
};

// What a layer computes, for whoever computes it; see nn/block_order.h.
struct BlockPlan {
  NormPosition norm = NormPosition::pre;
  bool parallel = false;     // GptConfig::parallel_residual
  bool shared_norm = false;  // of both branches
  AttentionPlan attention = {};
  bool qk_norm = false;                 // GptConfig::qk_norm
  bool output_norms = false;            // GptConfig::output_norms
  std::optional<Index> mlp_width = {};  // of the MLP's inner vectors; none: there is no MLP
  bool gated_mlp = false;
  bool qkv_bias = true;
  bool attention_output_bias = true;
  bool mlp_bias = true;
};

BlockPlan block_plan(const GptConfig& config, Index layer);

// Parameters that a Gpt of this configuration has, by part; nothing is allocated.
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

// Throws Error when the configuration does not validate or the count exceeds 2^48.
ParameterCounts count_parameters(const GptConfig& config);

// Floating-point operations of the matrix products of one training step, a multiply-add counting as
// two: 6 W N for the W weights that are multiplied (biases and norms are not) and 12 H D P a layer
// for attention over P visible pairs of query and key (Chowdhery et al., arXiv 2204.02311, B,
// without its pairs in the future). offsets [B + 1] as in Batch: only real tokens count. Throws
// Error when the configuration does not validate.
double training_flops(const GptConfig& config, const std::vector<Index>& offsets);

// The same for one token that attends to a whole block.
double training_flops_per_token(const GptConfig& config);

}  // namespace headlight
