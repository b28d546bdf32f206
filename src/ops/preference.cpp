#include "headlight/ops/preference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headlight/ops/elementwise.h"
#include "ops/common.h"

namespace headlight {
namespace {

void check_pairs(const Tensor& token_losses, const std::vector<Index>& offsets) {
  require_type(token_losses, DType::float64, "preference_loss", "token_losses");
  require(offsets.size() % 2 == 1 && offsets.size() > 1 && offsets.front() == 0 &&
              std::is_sorted(offsets.begin(), offsets.end()),
          "[preference_loss] expected offsets of pairs of sequences, got ", offsets.size() - 1,
          " sequences");
  require_shape(token_losses, {offsets.back()}, "preference_loss", "token_losses");
}

// -log sigmoid(x), without overflow.
double softplus_of_minus(double x) {
  return std::max(-x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace

std::vector<PreferredPair> pair_log_probabilities(const Tensor& token_losses,
                                                  const std::vector<Index>& offsets) {
  check_pairs(token_losses, offsets);
  const Tensor contiguous = to_contiguous(token_losses.detach());
  const double* losses = contiguous.data<double>();
  const auto sum_of_sequence = [&](std::size_t s) {
    return std::accumulate(losses + offsets[s], losses + offsets[s + 1], 0.0);
  };
  std::vector<PreferredPair> pairs;
  for (std::size_t s = 0; s + 1 < offsets.size(); s += 2) {
    pairs.push_back({.chosen = -sum_of_sequence(s), .rejected = -sum_of_sequence(s + 1)});
  }
  return pairs;
}

std::vector<double> preference_margins(const std::vector<PreferredPair>& pairs,
                                       const std::vector<PreferredPair>& reference) {
  require(reference.size() == pairs.size(), "[preference_loss] expected ", pairs.size(),
          " pairs of the reference, got ", reference.size());
  std::vector<double> margins;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    margins.push_back(pairs[i].chosen - pairs[i].rejected -
                      (reference[i].chosen - reference[i].rejected));
  }
  return margins;
}

Tensor preference_loss(const Tensor& token_losses, const std::vector<Index>& offsets,
                       const std::vector<PreferredPair>& reference,
                       const PreferenceOptions& options) {
  const std::vector<PreferredPair> pairs = pair_log_probabilities(token_losses, offsets);
  const std::vector<double> margins = preference_margins(pairs, reference);
  require(options.beta > 0, "[preference_loss] beta: expected a positive number, got ",
          options.beta);
  const auto divisor =
      static_cast<double>(options.normalizer > 0 ? options.normalizer : std::ssize(pairs));
  double sum = 0;
  Tensor gradient = Tensor::zeros(token_losses.shape(), DType::float64);  // [N]
  double* slopes = gradient.data<double>();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double scaled = options.beta * margins[i];
    sum += softplus_of_minus(scaled);
    // d loss / d margin = -beta sigmoid(-beta margin). Token losses lower the margin in the chosen
    // answer and raise it in the rejected one.
    const double slope = options.beta * std::exp(-softplus_of_minus(-scaled));
    std::fill(slopes + offsets[2 * i], slopes + offsets[2 * i + 1], slope / divisor);
    std::fill(slopes + offsets[2 * i + 1], slopes + offsets[2 * i + 2], -slope / divisor);
  }
  return record_shapes(
      "preference_loss", Tensor::scalar(sum / divisor, DType::float64), {token_losses},
      [gradient](auto, const Tensor& grad) {
        return std::vector<Tensor>{grad.item() == 1.0 ? gradient : mul(gradient, grad)};
      });
}

}  // namespace headlight
