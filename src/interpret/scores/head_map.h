#pragma once

#include <cstdint>
#include <vector>

#include "headlight/interpret/scores/head_annotations.h"
#include "headlight/interpret/token_cells.h"
#include "headlight/tensor/tensor.h"
#include "kernels/attention/weight_rows.h"

namespace headlight {

// Facts about a sequence that do not depend on the model. With cells, positions count them instead
// of tokens: `tokens` then holds a number for each distinct label.
struct SequenceFacts {
  std::vector<std::int32_t> tokens;  // [T]
  std::vector<Index> earlier_equal;  // [T] last earlier position of the same token; -1: none
  Index repeat_begin = 0;            // first token of the second copy, for repeated random tokens
  SequencePairs pairs;
  bool causal = true;            // false: queries also see later keys
  std::vector<TokenCell> cells;  // [T], for their classes; empty: unknown
  bool merged = false;           // cells hold several tokens, so weights need merged_weights()
  bool without_first = false;    // position 0 is the second token or cell of the sequence

  Index length() const { return static_cast<Index>(tokens.size()); }
};

SequenceFacts sequence_facts(std::vector<std::int32_t> tokens);

// Returns the facts of the cells of a sequence; `pairs` refer to its tokens. A pair that shares
// a cell is left out.
SequenceFacts cell_facts(std::vector<TokenCell> cells, const SequencePairs& pairs);

// Returns the facts of a sequence without its first position. Pairs with it are left out.
SequenceFacts without_first(const SequenceFacts& facts);
// Returns weights [1, T, T] without the first query and key, [1, T - 1, T - 1]; each row is divided
// by its sum. T must be 2 or more.
Tensor without_first(const Tensor& weights);

// Attention weights of one head on one sequence, with per-query sums shared by several scores.
class HeadMap {
 public:
  // Share of a uniform weight below which a weight counts as near zero.
  static constexpr double kSmallPart = 0.1;

  // weights [T, T]; both must outlive the map. Computes sums on first use: some scores need none.
  HeadMap(const float* weights, const SequenceFacts& facts) : weights_(weights), facts_(facts) {}

  const SequenceFacts& facts() const { return facts_; }
  Index length() const { return facts_.length(); }
  // Number of keys that a query sees: those up to its own, or all.
  Index keys(Index query) const { return facts_.causal ? query + 1 : length(); }
  // Weights of a query, [T]; 0 for keys that it does not see.
  const float* row(Index query) const { return weights_ + query * length(); }
  double weight(Index query, Index key) const { return row(query)[key]; }
  // Weight on the keys begin ... end - 1.
  double span_weight(Index query, Index begin, Index end) const;
  // Sums over keys, with distances to both sides; `below` counts weights of less than kSmallPart of
  // a uniform weight.
  const kernels::WeightRowSums& sums(Index query) const {
    if (sums_.empty()) {
      measure();
    }
    return sums_[static_cast<std::size_t>(query)];
  }
  // Sum of the weights of all queries but the first on a key.
  double column_sum(Index key) const {
    if (sums_.empty()) {
      measure();
    }
    return columns_[static_cast<std::size_t>(key)];
  }
  // Key with the largest weight; the first one on ties.
  Index top_key(Index query) const;

 private:
  void measure() const;

  const float* weights_;
  const SequenceFacts& facts_;
  mutable std::vector<kernels::WeightRowSums> sums_;  // [T]; empty: not yet measured
  mutable std::vector<double> columns_;               // [T]
};

}  // namespace headlight
