#include "headlight/heads/bootstrap.h"

#include <algorithm>
#include <cmath>

#include "headlight/tensor/random.h"

namespace headlight {
namespace {

double mean_of(const DocumentSum& total) {
  return total.weight > 0 ? total.sum / total.weight : 0.0;
}

DocumentSum total_of(const std::vector<DocumentSum>& documents) {
  DocumentSum total;
  for (const DocumentSum& document : documents) {
    total.sum += document.sum;
    total.weight += document.weight;
  }
  return total;
}

// The mean of as many documents as there are, drawn with replacement.
double resampled_mean(const std::vector<DocumentSum>& documents, const RandomStream& random) {
  DocumentSum total;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const DocumentSum& drawn = documents[random.below(i, documents.size())];
    total.sum += drawn.sum;
    total.weight += drawn.weight;
  }
  return mean_of(total);
}

// The value below which a share of the sorted values lies, linear between neighbours.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

}  // namespace

Interval bootstrap_mean(const std::vector<DocumentSum>& documents,
                        const BootstrapOptions& options) {
  require(options.resamples >= 1, "[bootstrap_mean] resamples: expected at least 1, got ",
          options.resamples);
  require(options.level > 0 && options.level < 1,
          "[bootstrap_mean] level: expected a share between 0 and 1, got ", options.level);
  const double mean = mean_of(total_of(documents));
  if (documents.size() < 2) {
    return {mean, mean, mean};
  }
  std::vector<double> means;
  for (Index i = 0; i < options.resamples; ++i) {
    means.push_back(resampled_mean(
        documents, RandomStream{options.seed, 0}.fork(static_cast<std::uint64_t>(i))));
  }
  std::sort(means.begin(), means.end());
  const double tail = (1 - options.level) / 2;
  return {mean, quantile(means, tail), quantile(means, 1 - tail)};
}

}  // namespace headlight
