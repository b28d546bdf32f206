#include "headlight/interpret/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "headlight/base/error.h"
#include "headlight/tensor/random.h"
#include "kernels/threads/parallel.h"

namespace headlight {
namespace {

constexpr double kLevel = 0.95;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Draws as many documents as given, with replacement.
std::vector<std::size_t> draw(std::size_t documents, const BootstrapOptions& options,
                              Index resample) {
  const RandomStream random =
      RandomStream{options.seed, 0}.fork(static_cast<std::uint64_t>(resample));
  std::vector<std::size_t> drawn;
  for (std::size_t i = 0; i < documents; ++i) {
    drawn.push_back(random.below(i, documents));
  }
  return drawn;
}

// Mean over the drawn documents; kNone if they have no tokens.
double resampled_mean(const std::vector<DocumentSum>& documents,
                      const std::vector<std::size_t>& drawn) {
  DocumentSum total;
  for (const std::size_t document : drawn) {
    total.sum += documents[document].sum;
    total.weight += documents[document].weight;
  }
  return total.weight > 0 ? total.sum / total.weight : kNone;
}

// Quantile of sorted values, with linear interpolation between neighbours.
double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - std::floor(position)) * (sorted[above] - sorted[below]);
}

void check(const BootstrapOptions& options, Index least) {
  require(options.resamples >= least, "[bootstrap_mean] resamples: expected at least ", least,
          ", got ", options.resamples);
}

Interval interval_of(const std::vector<DocumentSum>& documents, std::vector<double> means) {
  std::vector<std::size_t> all(documents.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const double whole = resampled_mean(documents, all);
  const double mean = std::isnan(whole) ? 0 : whole;
  std::erase_if(means, [](double value) { return std::isnan(value); });
  if (documents.size() < 2 || means.empty()) {
    return {mean, mean, mean};
  }
  std::sort(means.begin(), means.end());
  const double tail = (1 - kLevel) / 2;
  return {mean, quantile(means, tail), quantile(means, 1 - tail)};
}

}  // namespace

Interval bootstrap_mean(const std::vector<DocumentSum>& documents,
                        const BootstrapOptions& options) {
  check(options, 1);
  return bootstrap_means({documents}, options)[0];
}

std::vector<Interval> bootstrap_means(const std::vector<std::vector<DocumentSum>>& measures,
                                      const BootstrapOptions& options,
                                      const std::function<void()>& pause) {
  constexpr std::size_t kAtOnce = 64;  // measures; all have the same draws
  check(options, 0);
  const std::size_t documents = measures.empty() ? 0 : measures[0].size();
  for (const std::vector<DocumentSum>& measure : measures) {
    require(measure.size() == documents, "[bootstrap_means] expected measures of ", documents,
            " documents, got one of ", measure.size());
  }
  const auto resamples = documents < 2 ? 0 : static_cast<std::size_t>(options.resamples);
  std::vector<Interval> intervals;
  while (intervals.size() < measures.size()) {
    const auto some = std::span(measures).subspan(intervals.size());
    std::vector<std::vector<double>> means(std::min(kAtOnce, some.size()),
                                           std::vector<double>(resamples));
    kernels::parallel_for(static_cast<Index>(resamples), 1, [&](Index resample, Index) {
      const std::vector<std::size_t> drawn = draw(documents, options, resample);
      for (std::size_t i = 0; i < means.size(); ++i) {
        means[i][static_cast<std::size_t>(resample)] = resampled_mean(some[i], drawn);
      }
    });
    for (std::size_t i = 0; i < means.size(); ++i) {
      intervals.push_back(interval_of(some[i], std::move(means[i])));
    }
    if (intervals.size() < measures.size()) {
      pause();
    }
  }
  return intervals;
}

std::string few_documents_caution(Index documents) {
  if (documents >= kEnoughDocuments) {
    return "";
  }
  return documents == 1
             ? "caution: a single sequence gives no interval: its figures (marked ?) may be chance"
             : concat_text("caution: intervals over ", documents,
                           " sequences are too narrow (from ", kEnoughDocuments,
                           " on they are reliable): their figures (marked ?) may be chance");
}

Interval bounded_mean(double mean, double count) {
  if (count <= 0) {
    return {mean, 0, 1};
  }
  const double half = std::sqrt(std::log(2 / (1 - kLevel)) / (2 * count));
  return {mean, std::max(0.0, mean - half), std::min(1.0, mean + half)};
}

}  // namespace headlight
