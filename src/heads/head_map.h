#pragma once

#include <cstdint>
#include <vector>

#include "headlight/heads/head_annotations.h"
#include "headlight/tensor/tensor.h"

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

// The entropy of weights that sum to 1, in nats; `logs` is memory for their logarithms.
double entropy_of(const float* weights, Index count, std::vector<float>& logs);

// The weights of one head on one sequence, and what several scores need of every query's row.
class HeadMap {
 public:
  // weights [T, T]; both must outlive the map.
  HeadMap(const float* weights, const SequenceFacts& facts);

  const SequenceFacts& facts() const { return facts_; }
  Index length() const { return facts_.length(); }
  // The weights that a query gives, [T]; those behind the query are 0.
  const float* row(Index query) const { return weights_ + query * length(); }
  double weight(Index query, Index key) const { return row(query)[key]; }
  // On the keys begin ... end - 1.
  double span_weight(Index query, Index begin, Index end) const;
  // The key with the largest weight, the first of equals.
  Index top_key(Index query) const { return top_keys_[static_cast<std::size_t>(query)]; }
  double entropy(Index query) const { return entropies_[static_cast<std::size_t>(query)]; }

 private:
  const float* weights_;
  const SequenceFacts& facts_;
  std::vector<Index> top_keys_;    // [T]
  std::vector<double> entropies_;  // [T] nats
};

}  // namespace headlight
