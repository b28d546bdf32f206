#include "headlight/interpret/redundancy.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/share.h"
#include "interpret/layer_maps.h"
#include "kernels/attention/weight_rows.h"
#include "kernels/threads/parallel.h"

namespace headlight {
namespace {

using Sequences = std::vector<std::vector<std::int32_t>>;

// Attention weights of every head on one sequence, [heads] of [T, T].
std::vector<Tensor> maps_of(const LanguageModel& model, const std::vector<std::int32_t>& tokens,
                            const HeadSet& heads) {
  std::vector<Tensor> maps(heads.size());
  visit_layer_maps(model, {tokens}, [&](Index layer, const std::vector<Tensor>& weights) {
    const Index length = weights[0].size(1);
    for (std::size_t i = 0; i < heads.size(); ++i) {
      if (heads[i].layer == layer) {
        const Index begin = head_index(heads[i], model.heads()) * length * length;
        maps[i] = weights[0].strided_view({length, length}, {length, 1}, begin).clone();
      }
    }
  });
  return maps;
}

// Entropy of every query's weights, in nats, for a map [T, T].
std::vector<double> entropies(const Tensor& map, bool causal) {
  const Index length = map.size(0);
  std::vector<double> result;
  for (Index query = 0; query < length; ++query) {
    const float* row = map.data<float>() + query * length;
    result.push_back(
        kernels::weight_row_loops().middle_entropy(row, row, causal ? query + 1 : length));
  }
  return result;
}

// Sum over queries of the distance between two heads, given their entropies.
double distance_sum(const Tensor& a, const Tensor& b, const std::vector<double>& a_entropy,
                    const std::vector<double>& b_entropy, bool causal) {
  const Index length = a.size(0);
  const auto& loops = kernels::weight_row_loops();
  const float* p = a.data<float>();
  const float* q = b.data<float>();
  double sum = 0;
  for (Index query = 1; query < length; ++query) {
    const auto index = static_cast<std::size_t>(query);
    const double divergence = loops.middle_entropy(p + query * length, q + query * length,
                                                   causal ? query + 1 : length) -
                              (a_entropy[index] + b_entropy[index]) / 2;  // in nats
    sum += std::sqrt(std::clamp(divergence / std::numbers::ln2, 0.0, 1.0));
  }
  return sum;
}

// Adds the distances between the heads' maps of one sequence to the upper triangle of `sums`.
void add_distances(const std::vector<Tensor>& maps, bool causal, std::vector<double>& sums) {
  std::vector<std::vector<double>> entropy;
  for (const Tensor& map : maps) {
    entropy.push_back(entropies(map, causal));
  }
  kernels::parallel_for(static_cast<Index>(maps.size()), 1, [&](Index begin, Index) {
    const auto a = static_cast<std::size_t>(begin);
    for (std::size_t b = a + 1; b < maps.size(); ++b) {
      sums[a * maps.size() + b] += distance_sum(maps[a], maps[b], entropy[a], entropy[b], causal);
    }
  });
}

// Evenly spread pieces of two tokens or more: the first of every sequence, or all of a single one.
std::vector<SequencePiece> sample(const Sequences& sequences, const RedundancyOptions& options,
                                  Index block_size) {
  std::vector<SequencePiece> usable = cut_sequences(sequences, block_size, 0);
  std::erase_if(usable, [&](const SequencePiece& piece) {
    return piece.length < 2 || (sequences.size() > 1 && piece.begin > 0);
  });
  const std::size_t count = std::min(usable.size(), static_cast<std::size_t>(options.documents));
  std::vector<SequencePiece> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    chosen.push_back(usable[i * usable.size() / count]);
  }
  return chosen;
}

double mean_between(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b,
                    const std::vector<double>& distance, std::size_t n) {
  double sum = 0;
  for (const std::size_t i : a) {
    for (const std::size_t j : b) {
      sum += distance[i * n + j];
    }
  }
  return sum / static_cast<double>(a.size() * b.size());
}

}  // namespace

std::vector<std::vector<std::size_t>> average_linkage(const std::vector<double>& distance,
                                                      std::size_t n, double threshold) {
  require(distance.size() == n * n, "[average_linkage] expected distances [n, n], got n ", n,
          " and ", distance.size(), " values");
  std::vector<std::vector<std::size_t>> clusters;
  for (std::size_t i = 0; i < n; ++i) {
    clusters.push_back({i});
  }
  std::vector<double> between = distance;  // between clusters, in the rows of their first items
  for (;;) {
    std::size_t first = 0;
    std::size_t second = 0;
    double nearest = threshold;
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      for (std::size_t j = i + 1; j < clusters.size(); ++j) {
        const double mean = between[clusters[i][0] * n + clusters[j][0]];
        if (mean < nearest) {
          nearest = mean;
          first = i;
          second = j;
        }
      }
    }
    if (second == 0) {
      break;
    }
    std::vector<std::size_t>& merged = clusters[first];
    merged.insert(merged.end(), clusters[second].begin(), clusters[second].end());
    std::sort(merged.begin(), merged.end());
    clusters.erase(clusters.begin() + static_cast<std::ptrdiff_t>(second));
    for (const std::vector<std::size_t>& other : clusters) {
      const double mean = mean_between(clusters[first], other, distance, n);
      between[clusters[first][0] * n + other[0]] = mean;
      between[other[0] * n + clusters[first][0]] = mean;
    }
  }
  std::erase_if(clusters, [](const auto& cluster) { return cluster.size() < 2; });
  std::stable_sort(clusters.begin(), clusters.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return clusters;
}

HeadDistances head_distances(const LanguageModel& model, const Sequences& sequences,
                             const RedundancyOptions& options) {
  HeadDistances result;
  result.heads = options.heads.or_all(heads_of(model));
  require(options.documents >= 1 && options.max_tokens >= 2,
          "[head_distances] expected at least 1 document of at least 2 tokens, got ",
          options.documents, " and ", options.max_tokens);
  const std::size_t count = result.heads.size();
  result.distance.assign(count * count, 0);
  const std::vector<SequencePiece> pieces = sample(sequences, options, model.block_size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Index length = std::min(pieces[i].length, options.max_tokens);
    const auto begin = sequences[pieces[i].sequence].begin() + pieces[i].begin;
    add_distances(maps_of(model, {begin, begin + length}, result.heads), model.is_causal(),
                  result.distance);
    result.queries += length - 1;
    options.progress(share_of(static_cast<Index>(i) + 1, std::ssize(pieces)));
  }
  require(result.queries > 0, "[head_distances] expected a sequence of at least 2 tokens");
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      const double mean = result.distance[a * count + b] / static_cast<double>(result.queries);
      result.distance[a * count + b] = mean;
      result.distance[b * count + a] = mean;
    }
  }
  for (const auto& cluster : average_linkage(result.distance, count, options.threshold)) {
    std::vector<HeadId> members;
    for (const std::size_t member : cluster) {
      members.push_back(result.heads[member]);
    }
    result.clusters.emplace_back(std::move(members));
  }
  return result;
}

}  // namespace headlight
