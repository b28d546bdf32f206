#include "headlight/interpret/redundancy.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "headlight/base/index.h"
#include "interpret/head_comparison.h"
#include "kernels/attention/weight_rows.h"
#include "kernels/threads/parallel.h"

namespace headlight {
namespace {

constexpr Index kStep = 16;  // rows of a multiple of it are the fastest

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

HeadComparison::HeadComparison(const LanguageModel& model, const std::vector<SequencePiece>& pieces,
                               const RedundancyOptions& options)
    : layout_(heads_of(model)), causal_(model.is_causal()), threshold_(options.threshold) {
  require(options.documents >= 1 && options.max_tokens >= 2,
          "[head_distances] expected at least 1 document of at least 2 tokens, got ",
          options.documents, " and ", options.max_tokens);
  result_.heads = options.heads.or_all(layout_);
  result_.distance.assign(result_.heads.size() * result_.heads.size(), 0);
  std::vector<SequencePiece> usable = pieces;
  std::erase_if(usable, [&](const SequencePiece& piece) {
    return piece.length < 2 || (pieces.back().sequence > 0 && piece.begin > 0);
  });
  const std::size_t count = std::min(usable.size(), static_cast<std::size_t>(options.documents));
  for (std::size_t i = 0; i < count; ++i) {
    SequencePiece piece = usable[i * usable.size() / count];
    piece.length = std::min(piece.length, options.max_tokens);
    maps_[{piece.sequence, piece.begin}].piece = piece;
    result_.queries += piece.length - 1;
  }
}

Index HeadComparison::stride_of(const Maps& maps) const {
  return rounded_up(maps.piece.length, kStep);
}

Index HeadComparison::offset(const Maps& maps, std::size_t head, Index query) const {
  const Index row = query * static_cast<Index>(result_.heads.size()) + static_cast<Index>(head);
  return row * stride_of(maps);
}

void HeadComparison::add(const SequencePiece& piece, Index layer, const Tensor& weights) {
  const auto found = maps_.find({piece.sequence, piece.begin});
  if (found == maps_.end()) {
    return;
  }
  Maps& maps = found->second;
  const std::size_t count = result_.heads.size();
  const Index length = maps.piece.length;
  maps.weights.resize(count * static_cast<std::size_t>(length * stride_of(maps)));
  for (; maps.heads < count && result_.heads[maps.heads].layer == layer; ++maps.heads) {
    const Index size = weights.size(1);
    const float* from =
        weights.data<float>() + head_index(result_.heads[maps.heads], layout_) * size * size;
    for (Index query = 0; query < length; ++query) {
      std::copy_n(from + query * size, length,
                  maps.weights.data() + offset(maps, maps.heads, query));
    }
  }
  if (maps.heads == count) {
    add_distances(maps);
    maps_.erase(found);
  }
}

// Adds the root of the divergence of each query's weights to the upper triangle of the result.
void HeadComparison::add_distances(const Maps& maps) {
  constexpr std::size_t kTogether = 8;  // heads that read a query's weights of all heads together
  const std::size_t count = result_.heads.size();
  const auto entropy = [&](std::size_t a, std::size_t b, Index query) {  // in nats
    return kernels::weight_row_loops().middle_entropy(
        maps.weights.data() + offset(maps, a, query), maps.weights.data() + offset(maps, b, query),
        causal_ ? rounded_up(query + 1, kStep) : stride_of(maps));
  };
  std::vector<double> own;  // [L, heads]
  for (Index query = 0; query < maps.piece.length; ++query) {
    for (std::size_t head = 0; head < count; ++head) {
      own.push_back(entropy(head, head, query));
    }
  }
  kernels::parallel_for(
      divided_up(static_cast<Index>(count), static_cast<Index>(kTogether)), 1,
      [&](Index begin, Index) {
        const std::size_t first = static_cast<std::size_t>(begin) * kTogether;
        std::vector<double> sums(kTogether * count);
        for (Index query = 1; query < maps.piece.length; ++query) {
          const double* entropies = own.data() + query * static_cast<Index>(count);
          for (std::size_t a = first; a < std::min(first + kTogether, count); ++a) {
            for (std::size_t b = a + 1; b < count; ++b) {
              const double divergence = entropy(a, b, query) - (entropies[a] + entropies[b]) / 2;
              sums[(a - first) * count + b] +=
                  std::sqrt(std::clamp(divergence / std::numbers::ln2, 0.0, 1.0));
            }
          }
        }
        for (std::size_t i = 0; i < sums.size() && first * count + i < result_.distance.size();
             ++i) {
          result_.distance[first * count + i] += sums[i];
        }
      });
}

void HeadComparison::run(const LanguageModel& model,
                         const std::vector<std::vector<std::int32_t>>& sequences) {
  while (!maps_.empty()) {
    const SequencePiece piece = maps_.begin()->second.piece;
    const auto begin = sequences[piece.sequence].begin() + piece.begin;
    visit_layer_maps(
        model, {{begin, begin + piece.length}},
        [&](Index layer, const std::vector<Tensor>& weights) { add(piece, layer, weights[0]); });
  }
}

HeadDistances HeadComparison::finished() {
  const std::size_t count = result_.heads.size();
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      const double mean = result_.distance[a * count + b] / static_cast<double>(result_.queries);
      result_.distance[a * count + b] = mean;
      result_.distance[b * count + a] = mean;
    }
  }
  for (const auto& cluster : average_linkage(result_.distance, count, threshold_)) {
    std::vector<HeadId> members;
    for (const std::size_t member : cluster) {
      members.push_back(result_.heads[member]);
    }
    result_.clusters.emplace_back(std::move(members));
  }
  return std::move(result_);
}

HeadDistances head_distances(const LanguageModel& model,
                             const std::vector<std::vector<std::int32_t>>& sequences,
                             const RedundancyOptions& options) {
  HeadComparison comparison(model, cut_sequences(sequences, model.block_size(), 0), options);
  require(comparison.queries() > 0, "[head_distances] expected a sequence of at least 2 tokens");
  comparison.run(model, sequences);
  return comparison.finished();
}

}  // namespace headlight
