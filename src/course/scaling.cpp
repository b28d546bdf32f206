#include <algorithm>
#include <cmath>

#include "course/lab.h"
#include "course/report/pictures.h"
#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "headlight/ops/softmax.h"
#include "headlight/tensor/random.h"
#include "show/plot/chart.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kTokens = 4;
constexpr std::size_t kBins = 20;
constexpr std::size_t kMostWidths = 8;
constexpr Index kLargestWidth = 4096;
constexpr Index kMostNumbers = Index{1} << 24;  // of all queries; bounds the memory

struct Distribution {
  Json measured;                  // a row of "cases"
  std::vector<double> histogram;  // [kBins] shares

  double operator[](const char* name) const { return measured[name].number(); }
};

std::vector<double> histogram_of(const std::vector<double>& weights) {
  std::vector<double> shares(kBins, 0.0);
  for (const double weight : weights) {
    const auto bin = static_cast<std::size_t>(weight * static_cast<double>(kBins));
    shares[std::min(bin, kBins - 1)] += 1.0 / static_cast<double>(weights.size());
  }
  return shares;
}

double entropy_of(const std::vector<double>& weights) {
  double sum = 0;
  for (const double weight : weights) {
    sum -= weight > 0 ? weight * std::log(weight) : 0;
  }
  return sum * static_cast<double>(kTokens) / static_cast<double>(weights.size());
}

double root_mean_square(const Tensor& x) { return std::sqrt(mean(pow(x, 2)).item()); }

Distribution measure_scaling(Index d_k, bool scaled, Index draws, std::uint64_t seed) {
  const auto normal = [&](const Shape& shape, std::uint64_t stream) {
    return random_normal(shape, RandomStream{seed, static_cast<std::uint64_t>(d_k)}.fork(stream), 0,
                         1, DType::float64);
  };
  const Tensor query = normal({draws, kTokens, d_k}, 1);
  const Tensor key = normal({draws, kTokens, d_k}, 2);
  Tensor scores = matmul(query, transpose(key));
  if (scaled) {
    scores = scores / std::sqrt(static_cast<double>(d_k));
  }
  scores.set_requires_grad();
  const Tensor weights = softmax(scores);
  backward(weights, {.gradient = normal(weights.shape(), 3)});
  const std::vector<double> values = weights.to_vector();
  const std::vector<double> histogram = histogram_of(values);
  return {{{"d_k", d_k},
           {"scaled", scaled},
           {"score_deviation", root_mean_square(scores.detach())},
           {"entropy", entropy_of(values)},
           {"largest_weight", mean(max(weights.detach(), {.axes = {2}})).item()},
           {"extreme_share", histogram.front() + histogram.back()},
           {"gradient", root_mean_square(scores.grad())},
           {"histogram", histogram}},
          histogram};
}

// Outline of a histogram as a curve.
PlotSeries outline(const std::string& name, const std::vector<double>& histogram) {
  PlotSeries series{.name = name};
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    for (const std::size_t edge : {bin, bin + 1}) {
      series.x.push_back(static_cast<double>(edge) / static_cast<double>(kBins));
      series.y.push_back(100 * histogram[bin]);
    }
  }
  return series;
}

std::string chart_of(const Distribution& distribution, double highest) {
  const auto percent = [](double share) { return 100 * share; };
  return line_chart(transformed(distribution.histogram, percent),
                    {.width = static_cast<int>(kBins),
                     .height = 5,
                     .x_label = "0" + std::string(kBins - 2, ' ') + "1",
                     .low = 0,
                     .high = highest});
}

// Draws the pairs without and with scaling, one panel for each d_k. Returns them as charts.
std::string draw_scaling(const std::vector<Distribution>& all, Report& report) {
  const std::string without = report.entry("words", "without");
  const std::string with = report.entry("words", "with");
  const double highest = 100 * std::ranges::max(transformed(all, [](const Distribution& one) {
                           return std::ranges::max(one.histogram);
                         }));
  std::string charts;
  std::vector<LinePlot> panels;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    const std::string d_k = std::to_string(all[i].measured["d_k"].integer());
    const std::string name = "d_k = " + d_k;
    charts +=
        (i > 0 ? "\n" : "") + side_by_side({{name + ", " + without, chart_of(all[i], highest)},
                                            {name + ", " + with, chart_of(all[i + 1], highest)}});
    panels.push_back(
        {.title = report.entry("weights.svg", "title", {{"name", name}}),
         .x_label = report.entry("weights.svg", "x"),
         .y_label = report.entry("weights.svg", "y"),
         .series = {outline(without, all[i].histogram), outline(with, all[i + 1].histogram)},
         .y_from_zero = true});
  }
  report.figure("weights.svg", line_panels_svg(panels, true));
  return charts;
}

// `all` holds pairs without and with scaling, ordered by d_k.
void scaling_findings(const std::vector<Distribution>& all, Report& report) {
  const Distribution& first = all.front();
  const Distribution& last = all[all.size() - 2];
  const Distribution& first_scaled = all[1];
  const Distribution& last_scaled = all.back();
  const Json shown{{"first", first.measured},
                   {"last", last.measured},
                   {"first_scaled", first_scaled.measured},
                   {"last_scaled", last_scaled.measured}};
  report.claim("peaked_without_scaling",
               last["extreme_share"] > 0.9 && last["entropy"] < first["entropy"] / 2, shown);
  const double drift = std::abs(last_scaled["entropy"] - first_scaled["entropy"]);
  report.claim("scaling_keeps_the_entropy", drift < 0.1 * first_scaled["entropy"], shown);
  report.claim("gradient_vanishes_without_scaling", last["gradient"] < last_scaled["gradient"] / 2,
               shown);
}

// Widths of --d_k, rising.
std::vector<Index> widths_of(const Options& options) {
  std::vector<Index> widths = options.integers("d_k");
  std::ranges::sort(widths);
  widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  require(widths.size() > 1 && widths.size() <= kMostWidths, "--d_k: expected 2 to ", kMostWidths,
          " different widths, got ", widths.size());
  for (const Index d_k : widths) {
    require(d_k >= 1 && d_k <= kLargestWidth, "--d_k: expected widths from 1 to ", kLargestWidth,
            ", got ", d_k);
  }
  return widths;
}

}  // namespace

void declare_scaling(Options& options) {
  declare_length(options).value("d_k", "Compare these key widths, separated by commas", "8,64,512");
}

void run_scaling(const Settings& settings, Report& report) {
  const std::vector<Index> widths = widths_of(settings.options);
  const Index draws =
      std::min<Index>(settings.full ? 8192 : 1024, kMostNumbers / (kTokens * widths.back()));
  report.values()["draws"] = draws;
  report.section("introduction");
  std::vector<Distribution> all;
  for (const Index d_k : widths) {
    for (const bool scaled : {false, true}) {
      all.push_back(measure_scaling(d_k, scaled, draws, settings.seed));
      report.values()["cases"].push_back(all.back().measured);
    }
  }
  report.section("histograms", {{"charts", draw_scaling(all, report)}});
  report.section("numbers", {{"even", std::log(double{kTokens})}});
  scaling_findings(all, report);
}

}  // namespace headlight::cli::lab
