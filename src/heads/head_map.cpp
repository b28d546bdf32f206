#include "heads/head_map.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "kernels/loops.h"

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

double entropy_of(const float* weights, Index count, std::vector<float>& logs) {
  constexpr std::size_t kSums = 8;  // side by side, so that they are vectors
  constexpr float kLeast = std::numeric_limits<float>::min();
  const auto n = static_cast<std::size_t>(count);
  logs.resize(std::max(logs.size(), n));
  for (std::size_t i = 0; i < n; ++i) {
    logs[i] = std::max(weights[i], kLeast);  // 0 log 0 is 0
  }
  kernels::loops<float>().log(logs.data(), logs.data(), count);
  double sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= n; i += kSums) {
    for (std::size_t j = 0; j < kSums; ++j) {
      sums[j] -= static_cast<double>(weights[i + j]) * static_cast<double>(logs[i + j]);
    }
  }
  for (; i < n; ++i) {
    sums[0] -= static_cast<double>(weights[i]) * static_cast<double>(logs[i]);
  }
  return std::accumulate(sums, sums + kSums, 0.0);
}

HeadMap::HeadMap(const float* weights, const SequenceFacts& facts)
    : weights_(weights), facts_(facts) {
  std::vector<float> logs;
  for (Index query = 0; query < length(); ++query) {
    const float* keys = row(query);
    const float most = kernels::loops<float>().maximum(keys, query + 1);
    top_keys_.push_back(std::find(keys, keys + query, most) - keys);
    entropies_.push_back(entropy_of(keys, query + 1, logs));
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
