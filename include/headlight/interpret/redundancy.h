#pragma once

#include <vector>

#include "headlight/interpret/head_set.h"
#include "headlight/nn/language_model.h"

namespace headlight {

struct RedundancyOptions {
  HeadSet heads = {};      // empty: all
  Index documents = 16;    // number of sequences to compare on, evenly spread
  Index max_tokens = 128;  // tokens of each sequence at most
  double threshold = 0.2;  // mean distance below which heads count as redundant
};

struct HeadDistances {
  HeadSet heads;  // one a row of `distance`
  // [heads, heads] mean over queries of the Jensen-Shannon distance between the attention patterns
  // of two heads: the root of the divergence to base 2, from 0 (equal) to 1 (disjoint). The first
  // token of a sequence is left out, because it sees only itself.
  std::vector<double> distance;
  // Redundant heads: average linkage (Sokal and Michener, 1958) below the threshold. Clusters have
  // two heads or more; the largest comes first.
  std::vector<HeadSet> clusters;
  Index queries = 0;

  double between(std::size_t a, std::size_t b) const { return distance[a * heads.size() + b]; }
};

// Compares all pairs of heads on the same queries. Throws Error for heads that the model does not
// have, options out of range, and data without queries.
HeadDistances head_distances(const LanguageModel& model,
                             const std::vector<std::vector<std::int32_t>>& sequences,
                             const RedundancyOptions& options = {});

// Clusters items by their distances [n, n]: merges the two nearest clusters while their mean
// distance is below the threshold. Items ascend. Leaves out single items; the largest comes first.
std::vector<std::vector<std::size_t>> average_linkage(const std::vector<double>& distance,
                                                      std::size_t n, double threshold);

}  // namespace headlight
