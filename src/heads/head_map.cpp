#include "heads/head_map.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace headlight {

SequenceFacts sequence_facts(std::vector<std::int32_t> tokens) {
  SequenceFacts facts;
  facts.tokens = std::move(tokens);
  std::unordered_map<std::int32_t, Index> last;
  for (Index place = 0; place < facts.length(); ++place) {
    const auto [found, is_new] =
        last.try_emplace(facts.tokens[static_cast<std::size_t>(place)], place);
    facts.earlier_equal.push_back(is_new ? -1 : found->second);
    found->second = place;
  }
  return facts;
}

HeadMap::HeadMap(const float* weights, const SequenceFacts& facts)
    : weights_(weights), facts_(facts) {
  for (Index query = 0; query < length(); ++query) {
    const float* keys = row(query);
    double sum = 0;
    for (Index key = 0; key <= query; ++key) {
      const double weight = keys[key];
      sum -= weight > 0 ? weight * std::log(weight) : 0;
    }
    top_keys_.push_back(std::max_element(keys, keys + query + 1) - keys);
    entropies_.push_back(sum);
  }
}

double HeadMap::span_weight(Index query, Index begin, Index end) const {
  double sum = 0;
  for (Index key = begin; key < end; ++key) {
    sum += weight(query, key);
  }
  return sum;
}

}  // namespace headlight
