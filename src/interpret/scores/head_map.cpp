#include "interpret/scores/head_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace headlight {

SequenceFacts sequence_facts(std::vector<std::int32_t> tokens) {
  SequenceFacts facts;
  facts.tokens = std::move(tokens);
  std::unordered_map<std::int32_t, Index> last;
  for (Index position = 0; position < facts.length(); ++position) {
    const auto [found, is_new] =
        last.try_emplace(facts.tokens[static_cast<std::size_t>(position)], position);
    facts.earlier_equal.push_back(is_new ? -1 : found->second);
    found->second = position;
  }
  return facts;
}

SequenceFacts cell_facts(std::vector<TokenCell> cells, const SequencePairs& pairs) {
  std::unordered_map<std::string, std::int32_t> numbers;
  std::vector<std::int32_t> labels;
  for (const TokenCell& cell : cells) {
    const auto next = static_cast<std::int32_t>(numbers.size());
    labels.push_back(numbers.try_emplace(cell.label, next).first->second);
  }
  SequenceFacts facts = sequence_facts(std::move(labels));
  const std::vector<Index> cell_indices = cells_of_tokens(cells);
  const auto cell_at = [&](Index token) { return cell_indices[static_cast<std::size_t>(token)]; };
  for (const auto& [relation, token_pairs] : pairs) {
    for (const TokenPair& pair : token_pairs) {
      const TokenPair merged{cell_at(pair.earlier_begin), cell_at(pair.earlier_end - 1) + 1,
                             cell_at(pair.later_begin), cell_at(pair.later_end - 1) + 1};
      if (merged.earlier_end <= merged.later_begin) {
        facts.pairs[relation].push_back(merged);
      }
    }
  }
  facts.cells = std::move(cells);
  facts.merged = true;
  return facts;
}

SequenceFacts without_first(const SequenceFacts& facts) {
  SequenceFacts rest = sequence_facts(
      facts.tokens.empty() ? facts.tokens
                           : std::vector(facts.tokens.begin() + 1, facts.tokens.end()));
  rest.repeat_begin = std::max<Index>(facts.repeat_begin - 1, 0);
  for (const auto& [relation, pairs] : facts.pairs) {
    for (const TokenPair& pair : pairs) {
      if (pair.earlier_begin > 0) {
        rest.pairs[relation].push_back({pair.earlier_begin - 1, pair.earlier_end - 1,
                                        pair.later_begin - 1, pair.later_end - 1});
      }
    }
  }
  rest.causal = facts.causal;
  if (!facts.cells.empty()) {
    rest.cells.assign(facts.cells.begin() + 1, facts.cells.end());
  }
  rest.merged = facts.merged;
  rest.without_first = true;
  return rest;
}

Tensor without_first(const Tensor& weights) {
  const Index length = weights.size(2) - 1;
  const Tensor from = to_contiguous(weights);
  Tensor rest = Tensor::zeros({1, length, length});
  for (Index query = 0; query < length; ++query) {
    const float* row = from.data<float>() + (query + 1) * (length + 1) + 1;
    const double sum = std::accumulate(row, row + length, 0.0);
    std::transform(row, row + length, rest.data<float>() + query * length,
                   [&](float weight) { return sum > 0 ? static_cast<float>(weight / sum) : 0.0F; });
  }
  return rest;
}

void HeadMap::measure() const {
  const auto& loops = kernels::weight_row_loops();
  sums_.reserve(static_cast<std::size_t>(length()));
  for (Index query = 0; query < length(); ++query) {
    if (query < 2) {  // forgets the first query
      columns_.assign(static_cast<std::size_t>(length()), 0);
    }
    const double least = kSmallPart / static_cast<double>(keys(query));
    auto limit = static_cast<float>(least);  // smallest float >= `least`, for the same comparison
    if (static_cast<double>(limit) < least) {
      limit = std::nextafter(limit, std::numeric_limits<float>::infinity());
    }
    sums_.push_back(loops.sums(row(query), query + 1, limit, columns_.data()));
    if (const Index later = keys(query) - query - 1; later > 0) {
      const kernels::WeightRowSums more =
          loops.sums(row(query) + query + 1, later, limit, columns_.data() + query + 1);
      kernels::WeightRowSums& all = sums_.back();
      all.weight += more.weight;
      all.distance += more.weight * static_cast<double>(later) - more.distance;
      all.entropy += more.entropy;
      all.largest = std::max(all.largest, more.largest);
      all.below += more.below;
    }
  }
}

Index HeadMap::top_key(Index query) const {
  return std::find(row(query), row(query) + keys(query) - 1, sums(query).largest) - row(query);
}

double HeadMap::span_weight(Index query, Index begin, Index end) const {
  double sum = 0;
  for (Index key = begin; key < end; ++key) {
    sum += weight(query, key);
  }
  return sum;
}

}  // namespace headlight
