#include "heads/head_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

void HeadMap::measure() const {
  const auto& loops = kernels::weight_row_loops();
  for (Index query = 0; query < length(); ++query) {
    const double least = kSmallPart / static_cast<double>(keys(query));
    auto limit = static_cast<float>(least);  // smallest float >= `least`, for the same comparison
    if (static_cast<double>(limit) < least) {
      limit = std::nextafter(limit, std::numeric_limits<float>::infinity());
    }
    sums_.push_back(loops.sums(row(query), query + 1, limit));
    if (const Index later = keys(query) - query - 1; later > 0) {
      const kernels::WeightRowSums more = loops.sums(row(query) + query + 1, later, limit);
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
