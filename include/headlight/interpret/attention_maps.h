#pragma once

#include <map>
#include <string>
#include <vector>

#include "headlight/interpret/head_id.h"
#include "headlight/interpret/token_cells.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

// Attention patterns of one layer's heads on one sequence.
struct LayerAttention {
  Index layer = 0;           // number of the layer in the model
  std::vector<Index> heads;  // numbers of the heads in that layer, one per row of `weights`
  Tensor weights;            // [H, T, T] float32: weights[head][query][key]; rows sum to 1
  // Queries and keys for the neuron view, rotated if the model rotates them. weights[h][q] is
  // softmax over k of scale * queries[h][q] . keys[h][k], with a soft cap if `cap` is not 0. [H, T,
  // D] float32; undefined if absent.
  Tensor queries = {};
  Tensor keys = {};
  double scale = 0;  // 0: 1 / sqrt(D)
  double cap = 0;    // scores become cap tanh(score / cap); 0: unchanged
  Index window = 0;  // keys visible to a query, its own included; 0: all
};

// Class and score of a head.
struct HeadScore {
  std::string name;         // its class, as "previous token"
  double score = 0.0;       // 1 is the best fit
  bool significant = true;  // false: too little data, see Verdict; shown with a question mark
};

// Every recorded attention map of one sequence.
struct AttentionMaps {
  std::string title;                // the model's name, for headings
  std::vector<std::string> tokens;  // [T] the tokens as text (UTF-8; may hold a lone blank or '\n')
  std::vector<LayerAttention> layers;
  std::map<HeadId, HeadScore> scores = {};  // shown next to the heads; some may be missing
  TextUnit unit = TextUnit::token;  // each of `tokens` is a token, or tokens merged to this unit
  bool value_weighted = false;      // see RecordAttentionOptions
};

// Returns the weights of `first` minus the weights of `second`, head by head, for
// AttentionStyle::differences. A token that differs has the label "first/second"; scores are left
// out. Throws Error about "compare" if the texts differ in length or the maps in their heads.
AttentionMaps attention_difference(const AttentionMaps& first, const AttentionMaps& second);

}  // namespace headlight
