#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/strings/split.h"
#include "course/lab.h"
#include "course/matrix_option.h"
#include "course/report/pictures.h"
#include "course/report/tensors.h"
#include "headlight/autograd/autograd.h"
#include "headlight/base/utf8.h"
#include "headlight/ops/attention.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kWidth = 8;
constexpr std::size_t kMostWords = 32;

using Words = std::vector<std::string>;

// Query, key and value.
using Projections = std::array<Tensor, 3>;

Projections make_projections(Index tokens, std::uint64_t seed) {
  const auto draw = [=](std::uint64_t stream) {
    return random_normal({tokens, kWidth}, {seed, stream}, 0, 1, DType::float64);
  };
  return {draw(1), draw(2), draw(3)};
}

AttentionResult attend(const Projections& given, const Tensor& mask) {
  return scaled_dot_product_attention(given[0], given[1], given[2], {.mask = mask});
}

struct MaskCase {
  const char* id;  // of its section
  Tensor mask;     // [T, S]; undefined: none
};

std::vector<MaskCase> all_cases(Index tokens) {
  Tensor nothing = Tensor::zeros({tokens, tokens}, DType::boolean);
  nothing.strided_view({tokens}, {1}, tokens).fill(1);
  return {{"none", {}},
          {"causal", causal_mask(tokens)},
          {"padding", padding_mask({tokens - 1}, tokens)},
          {"nothing_visible", nothing}};
}

Words read_words(const Options& options) {
  const std::string text =
      options.given("tokens") ? options.text("tokens") : "I,love,deep,learning";
  require_utf8(text, "--tokens");
  Words words = split_at_commas(text);
  require(words.size() > 1 && words.size() <= kMostWords, "--tokens: expected 2 to ", kMostWords,
          " words separated by commas, got ", words.size());
  return words;
}

// Returns the mask of the option, [T, T]; true hides. One row counts for all queries.
Tensor read_mask(const Options& options, Index tokens) {
  const Tensor keep = matrix_option(options, "own_mask");
  require(keep.size(1) == tokens && (keep.size(0) == 1 || keep.size(0) == tokens),
          "--own_mask: expected 1 row or ", tokens, " rows of ", tokens,
          " numbers, one for each word, ", "got ", keep.size(0), " x ", keep.size(1));
  Tensor hidden = Tensor::zeros({tokens, tokens}, DType::boolean);
  const std::vector<double> kept = keep.to_vector();
  auto* out = hidden.data<bool>();
  for (std::size_t i = 0; i < static_cast<std::size_t>(tokens * tokens); ++i) {
    const double one = kept[i % kept.size()];
    require(one == 0 || one == 1, "--own_mask: expected 1 (visible) or 0 (hidden), got ", one);
    out[i] = one == 0;
  }
  return hidden;
}

Tensor show(const MaskCase& shown, const Projections& given, const Words& tokens, Report& report) {
  const auto [output, weights] = attend(given, shown.mask);
  const Tensor sums = sum(weights, {.axes = {1}});
  report.values()[shown.id] = {{"weights", weights.to_vector()},
                               {"row_sums", sums.to_vector()},
                               {"output", output.to_vector()}};
  report.section(shown.id, {{"picture", shades(weights, tokens)},
                            {"weights", named_tensor_text("weights", weights)},
                            {"sums", named_tensor_text("weights.sum(-1)", sums)}});
  report.figure(std::string(shown.id) + ".svg",
                weights_svg(report.entry("titles", shown.id), tokens, weights, report.language()));
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

// Largest difference between masked weights and unmasked weights renormalised over visible keys.
double largest_deviation(const Tensor& all, const Tensor& masked, const Tensor& hidden) {
  const Tensor kept = masked_fill(all, hidden, 0.0);
  const Tensor sums = sum(kept, {.axes = {1}, .keepdim = true});
  return largest_difference(kept, mul(masked, sums));
}

// Largest weight on a hidden key.
double largest_hidden_weight(const Tensor& weights, const Tensor& hidden) {
  return max(weights - masked_fill(weights, hidden, 0.0)).item();
}

// Largest number of keys that the mask hides in a row.
Index most_hidden(const Tensor& hidden) {
  const Tensor counts = sum(convert(hidden, DType::float32), {.axes = {1}});
  return static_cast<Index>(max(counts).item());
}

void run_own_mask(const Projections& given, const Words& words, const Tensor& hidden,
                  Report& report) {
  const Tensor all = show({"none", {}}, given, words, report);
  const Tensor weights = show({"own", hidden}, given, words, report);
  const Index most = most_hidden(hidden);
  if (most > 0) {
    const double deviation = largest_deviation(all, weights, hidden);
    report.claim("mask_renormalises", deviation < 1e-12, {{"deviation", deviation}});
    const double on_hidden = largest_hidden_weight(weights, hidden);
    report.claim("hidden_keys_get_nothing", on_hidden == 0, {{"on_hidden", on_hidden}});
  }
  if (most == hidden.size(1)) {
    report.claim("empty_row_is_safe", gradients_are_finite(given, hidden) && all_finite(weights));
  }
}

void run_all_masks(const Projections& given, const Words& words, Report& report) {
  const Index tokens = std::ssize(words);
  const std::vector<MaskCase> cases = all_cases(tokens);
  std::vector<Tensor> weights;
  for (const MaskCase& shown : cases) {
    weights.push_back(show(shown, given, words, report));
  }
  const Tensor empty_row = cases.back().mask;
  const Tensor row = select(careless_softmax(given, empty_row), 0, 1);
  report.section("by_hand", {{"row", named_tensor_text("weights[1]", row)}});
  report.values()["careless_row"] = row.to_vector();
  const double deviation = largest_deviation(weights[0], weights[1], cases[1].mask);
  report.claim("causal_renormalises", deviation < 1e-12, {{"deviation", deviation}});
  const double on_pad = sum(slice(weights[2], 1, tokens - 1, tokens)).item();
  report.claim("pads_get_nothing", on_pad == 0, {{"on_pad", on_pad}});
  report.claim("empty_row_is_safe",
               gradients_are_finite(given, empty_row) && all_finite(weights[3]));
}

}  // namespace

void declare_masks(Options& options) {
  options.value("tokens", "Words of the sequence, separated by commas")
      .value("own_mask",
             "Mask of your own: 1 keeps a key and 0 hides it, one number for each key "
             "(\"1,1,1,0\"), or a row for each query (\"1,0;1,1\")")
      .refused("keep", "is now called --own_mask");
}

void run_masks(const Settings& settings, Report& report) {
  const Words words = read_words(settings.options);
  const Index tokens = std::ssize(words);
  const bool is_own = settings.options.given("own_mask");
  const Tensor hidden = is_own ? read_mask(settings.options, tokens) : Tensor();
  const Projections given = make_projections(tokens, settings.seed);
  report.values()["tokens"] = words;
  report.section("introduction", {{"count", tokens}, {"own", is_own}});
  if (is_own) {
    run_own_mask(given, words, hidden, report);
  } else {
    run_all_masks(given, words, report);
  }
}

}  // namespace headlight::cli::lab
