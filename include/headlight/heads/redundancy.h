#pragma once

#include <functional>
#include <vector>

#include "headlight/heads/head_set.h"
#include "headlight/nn/language_model.h"

namespace headlight {

struct RedundancyOptions {
  HeadSet heads = {};      // empty: all
  Index documents = 16;    // sequences to compare on, spread evenly over all
  Index max_tokens = 128;  // of each
  double threshold = 0.2;  // heads whose mean distance is below do the same
  std::function<void(double share)> progress = {};  // called with what is done
};

struct HeadDistances {
  HeadSet heads;  // of the rows
  // [heads, heads] mean over queries of the Jensen-Shannon distance between what two heads look at:
  // the root of the divergence to base 2, 0 (the same) to 1 (nothing in common). The first token of
  // a sequence, which can see nothing else, does not count.
  std::vector<double> distance;
  // Heads that do the same: average linkage (Sokal and Michener, 1958) below the threshold. Only
  // clusters of two heads or more, the largest first.
  std::vector<HeadSet> clusters;
  Index queries = 0;

  double between(std::size_t a, std::size_t b) const { return distance[a * heads.size() + b]; }
};

// Compares all pairs of heads on the same queries. Throws Error for heads that the model does not
// have, options out of range, and when there is no query.
HeadDistances head_distances(const LanguageModel& model,
                             const std::vector<std::vector<std::int32_t>>& sequences,
                             const RedundancyOptions& options = {});

// Clusters of items [n, n] by average linkage: merges the two nearest clusters as long as their
// mean distance is below the threshold. Items of a cluster ascend; clusters of one are left out,
// and the largest come first.
std::vector<std::vector<std::size_t>> average_linkage(const std::vector<double>& distance,
                                                      std::size_t n, double threshold);

}  // namespace headlight
