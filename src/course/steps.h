#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/terminal/options.h"
#include "headlight/nn/multi_head_attention.h"
#include "headlight/tensor/named_tensors.h"

// Multi-head self-attention one operation at a time, as classroom examples write it.
namespace headlight::cli::lab {

// Limits that keep output and memory small.
inline constexpr Index kMostTokens = 512;        // T
inline constexpr Index kWidest = 4096;           // C
inline constexpr Index kMostWeights = 1 << 21;   // B H T T
inline constexpr Index kMostFeatures = 1 << 23;  // B T C

// Sizes of a layer and its input.
struct LayerSizes {
  std::string source;  // option that gives the tokens, for messages
  Index batch = 1;     // B
  Index tokens = 0;    // T
  Index width = 0;     // C
  Index heads = 1;     // H
};

// Throws Error that names the option if sizes do not fit each other or exceed a limit.
void check_sizes(const LayerSizes& sizes);

// Ids [T] int32 of words by first appearance: 0, 1, ...
Tensor word_ids(const std::vector<std::string>& words);

// Returns a standard normal vector [C] for each of N int32 ids, [N, C]. The vector of an id depends
// on nothing but the id and `random`.
Tensor embed(const Tensor& ids, Index width, const RandomStream& random);

// Result of one operation.
struct Step {
  std::string name;  // code: "softmax(attn_scores)"
  std::string axes;  // "B, heads, L, L"
  Tensor value;
};

struct AttentionSteps {
  std::vector<Step> steps;
  Tensor query, key, value;  // [B, H, T, D]
  Tensor scores;             // [B, H, T, T], scaled
  Tensor masked;             // scores with -infinity at hidden keys; undefined without a mask
  Tensor weights;            // [B, H, T, T]
  Tensor output;             // [B, T, C]
  double difference = 0;     // largest difference from MultiHeadAttention::forward()
};

// Computes self-attention of x [B, T, C], called `input` in the steps. `hidden`: [T, T] or [B, 1,
// T, T], true hides; undefined: no mask.
AttentionSteps attention_steps(const MultiHeadAttention& layer, const Tensor& x,
                               const Tensor& hidden, const std::string& input);

// Rows of a table: {step, axes, shape, strides, contiguous}.
Json steps_json(const std::vector<Step>& steps);
// These rows with shapes and strides as texts.
Json shown_steps(const std::vector<Step>& steps);

// Arrays of the layer and the steps for an .npz file.
NamedTensors step_arrays(const MultiHeadAttention& layer, const Tensor& x,
                         const AttentionSteps& steps);

}  // namespace headlight::cli::lab
