#pragma once

#include <cstdint>
#include <vector>

#include "headlight/heads/head_annotations.h"
#include "headlight/tensor/tensor.h"
#include "kernels/attention/weight_rows.h"

namespace headlight {

// What is known about a sequence before the model sees it.
struct SequenceFacts {
  std::vector<std::int32_t> tokens;  // [T]
  std::vector<Index> earlier_equal;  // [T] the last earlier place of the same token; -1: none
  Index repeat_begin = 0;            // first token of the second copy, in repeated random tokens
  SequencePairs pairs;

  Index length() const { return static_cast<Index>(tokens.size()); }
};

SequenceFacts sequence_facts(std::vector<std::int32_t> tokens);

// The weights of one head on one sequence, and what several scores need of every query's row.
class HeadMap {
 public:
  static constexpr double kSmallPart = 0.1;  // of an even share: a weight that is as good as none

  // weights [T, T]; both must outlive the map. The sums over rows are made when one is asked for:
  // not every score needs them.
  HeadMap(const float* weights, const SequenceFacts& facts) : weights_(weights), facts_(facts) {}

  const SequenceFacts& facts() const { return facts_; }
  Index length() const { return facts_.length(); }
  // The weights that a query gives, [T]; those behind the query are 0.
  const float* row(Index query) const { return weights_ + query * length(); }
  double weight(Index query, Index key) const { return row(query)[key]; }
  // On the keys begin ... end - 1.
  double span_weight(Index query, Index begin, Index end) const;
  // On all keys.
  double row_weight(Index query) const { return row_of(query).sums.weight; }
  // The key with the largest weight, the first of equals.
  Index top_key(Index query) const { return row_of(query).top_key; }
  double largest(Index query) const { return static_cast<double>(row_of(query).sums.largest); }
  double entropy(Index query) const { return row_of(query).sums.entropy; }  // nats
  // Sum over keys of weight times tokens back.
  double distance(Index query) const { return row_of(query).sums.distance; }
  // Keys with less than kSmallPart of an even share.
  Index small_weights(Index query) const { return row_of(query).sums.below; }

 private:
  struct Row {
    kernels::WeightRowSums sums;
    Index top_key = 0;
  };

  const Row& row_of(Index query) const {
    if (rows_.empty()) {
      measure();
    }
    return rows_[static_cast<std::size_t>(query)];
  }
  void measure() const;

  const float* weights_;
  const SequenceFacts& facts_;
  mutable std::vector<Row> rows_;  // [T]; empty: not yet measured
};

}  // namespace headlight
