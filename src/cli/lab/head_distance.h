#pragma once

#include "headlight/nn/gpt.h"

namespace headlight::cli::lab {

// How different the heads of a model are: the Jensen-Shannon distance (the root of the divergence
// in bits: 0 for equal patterns, 1 for patterns that share no key; Endres and Schindelin, 2003)
// between the attention of two heads of a layer to the same query, averaged over all pairs of
// heads, layers and queries that see at least two keys. 0 means that all heads do the same. NaN for
// models that have a single head in each layer.
double mean_head_distance(const Gpt& model, const Batch& batch);

}  // namespace headlight::cli::lab
