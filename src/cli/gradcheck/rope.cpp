#include "headlight/ops/rope.h"
#include "cli/gradcheck/cases.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"

namespace headlight::cli {
namespace {

GradientCase turn(const std::string& description, const Tensor& x, const RopeOptions& options) {
  std::vector<std::int32_t> values;
  for (Index row = 0; row < x.size(0); ++row) {
    values.push_back(static_cast<std::int32_t>(7 * row % 5));
  }
  const Tensor positions = Tensor::from(std::span<const std::int32_t>(values), {x.size(0)});
  return check("rope", description, {x},
               [=](const auto& in) { return rope(in[0], positions, options); });
}

}  // namespace

GradientCases rope_cases() {
  const RopeOptions interleaved{.style = RotaryStyle::interleaved};
  return {
      turn("halves", draw({3, 2, 6}), {}),
      turn("pairs", draw({3, 2, 6}), interleaved),
      turn("a part of the width", draw({3, 2, 5}), {.width = 4}),
      turn("pairs of a part of the width", draw({2, 1, 5}),
           {.width = 2, .style = RotaryStyle::interleaved}),
      turn("linear scaling", draw({3, 1, 4}), {.scaling = RopeScaling::linear, .factor = 4}),
      turn("Llama 3's scaling", draw({3, 1, 8}),
           {.scaling = RopeScaling::llama3, .factor = 8, .original_max_position_embeddings = 64}),
      turn("more pairs than are computed together", draw({1, 1, 140}), {}),
      turn("no rows", draw({0, 2, 4}), {}),
      turn("no heads", draw({2, 0, 4}), {}),
      check("rope", "transposed heads, used twice", {draw({2, 3, 4})}, [](const auto& in) {
        const Tensor x = permute(in[0], {1, 0, 2});
        const Tensor positions = Tensor::from({std::int32_t{0}, 3, 9}, {3});
        return rope(x, positions) * x;
      })};
}

}  // namespace headlight::cli
