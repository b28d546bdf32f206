#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cli/lab/lab.h"
#include "cli/lab/pictures.h"
#include "cli/lab/tensors.h"
#include "headlight/autograd/autograd.h"
#include "headlight/ops/attention.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kTokens = 4;
constexpr Index kWidth = 8;

std::vector<std::string> tokens() { return {"I", "love", "deep", "learning"}; }

// Query, key and value.
using Projections = std::array<Tensor, 3>;

Projections make_projections(std::uint64_t seed) {
  const auto draw = [seed](std::uint64_t stream) {
    return random_normal({kTokens, kWidth}, {seed, stream}, 0, 1, DType::float64);
  };
  return {draw(1), draw(2), draw(3)};
}

AttentionResult attend(const Projections& given, const Tensor& mask) {
  return scaled_dot_product_attention(given[0], given[1], given[2], {.mask = mask});
}

struct Case {
  const char* id;  // of its section
  Tensor mask;     // [T, S]; undefined: none
};

std::vector<Case> all_cases() {
  Tensor nothing = Tensor::zeros({kTokens, kTokens}, DType::boolean);
  nothing.strided_view({kTokens}, {1}, kTokens).fill(1);
  return {{"none", {}},
          {"causal", causal_mask(kTokens)},
          {"padding", padding_mask({kTokens - 1}, kTokens)},
          {"nothing_visible", nothing}};
}

Tensor show(const Case& shown, const Projections& given, Report& report) {
  const auto [output, weights] = attend(given, shown.mask);
  const Tensor sums = sum(weights, {.axes = {1}});
  report.values()[shown.id] = {{"weights", weights.to_vector()},
                               {"row_sums", sums.to_vector()},
                               {"output", output.to_vector()}};
  report.section(shown.id, {{"picture", shades(weights, tokens())},
                            {"weights", named_tensor_text("weights", weights)},
                            {"sums", named_tensor_text("weights.sum(-1)", sums)}});
  report.figure(std::string(shown.id) + ".svg",
                weights_svg(report.entry("titles", shown.id), tokens(), weights));
  return weights;
}

// Softmax over the visible scores, without a special case for rows with none.
Tensor careless_softmax(const Projections& given, const Tensor& mask) {
  const Tensor scores = matmul(given[0], transpose(given[1])) / std::sqrt(double{kWidth});
  const Tensor visible = exp(masked_fill(scores, mask, -std::numeric_limits<double>::infinity()));
  return div(visible, sum(visible, {.axes = {1}, .keepdim = true}));
}

bool all_finite(const Tensor& x) {
  return std::ranges::all_of(x.to_vector(), [](double value) { return std::isfinite(value); });
}

// True if the gradients of query, key and value are all finite.
bool gradients_are_finite(Projections given, const Tensor& mask) {
  for (Tensor& x : given) {
    x.set_requires_grad();
  }
  backward(sum(attend(given, mask).output));
  return std::ranges::all_of(given, [](const Tensor& x) { return all_finite(x.grad()); });
}

// Largest difference between causal weights and unmasked weights renormalised over visible keys.
double largest_deviation(const Tensor& all, const Tensor& causal) {
  const Tensor kept = tril(all);
  return largest_difference(div(kept, sum(kept, {.axes = {1}, .keepdim = true})), causal);
}

}  // namespace

void run_masks(const Settings& settings, Report& report) {
  report.section("introduction");
  const Projections given = make_projections(settings.seed);
  const std::vector<Case> cases = all_cases();
  std::vector<Tensor> weights;
  for (const Case& shown : cases) {
    weights.push_back(show(shown, given, report));
  }
  const Tensor empty_row = cases.back().mask;
  const Tensor row = reshape(slice(careless_softmax(given, empty_row), 0, 1, 2), {kTokens});
  report.section("by_hand", {{"row", named_tensor_text("weights[1]", row)}});
  report.values()["careless_row"] = row.to_vector();
  const double deviation = largest_deviation(weights[0], weights[1]);
  report.claim("causal_renormalises", deviation < 1e-12, {{"deviation", deviation}});
  const double on_pad = sum(slice(weights[2], 1, kTokens - 1, kTokens)).item();
  report.claim("pads_get_nothing", on_pad == 0, {{"on_pad", on_pad}});
  report.claim("empty_row_is_safe",
               gradients_are_finite(given, empty_row) && all_finite(weights[3]));
}

}  // namespace headlight::cli::lab
