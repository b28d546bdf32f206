#include "headlight/ops/normalization.h"
#include "cli/gradcheck/cases.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"

namespace headlight::cli {
namespace {

GradientCases layer_norm_cases() {
  const auto plain = [](const auto& in) { return layer_norm(in[0], in[1], in[2]); };
  const auto normalized = [](const auto& in) { return layer_norm(in[0], {}, {}); };
  return {
      check("layer_norm", "rows", {draw({3, 5}), draw({5}, 2), draw({5}, 3)}, plain),
      check("layer_norm", "a batch", {draw({2, 2, 4}), draw({4}, 2), draw({4}, 3)}, plain),
      check("layer_norm", "more rows than blocks", {draw({37, 3}), draw({3}, 2), draw({3}, 3)},
            plain),
      check("layer_norm", "gain alone", {draw({2, 4}), draw({4}, 2)},
            [](const auto& in) { return layer_norm(in[0], in[1], {}); }),
      check("layer_norm", "shift alone", {draw({2, 4}), draw({4}, 2)},
            [](const auto& in) { return layer_norm(in[0], {}, in[1]); }),
      check("layer_norm", "neither gain nor shift", {draw({2, 4})}, normalized),
      check("layer_norm", "a vector", {draw({4})}, normalized),
      check("layer_norm", "an axis of size 1", {draw({3, 1}), draw({1}, 2), draw({1}, 3)}, plain),
      check("layer_norm", "a constant row",
            {Tensor::ones({1, 3}, DType::float64).set_requires_grad()}, normalized),
      check("layer_norm", "no rows", {draw({0, 3}), draw({3}, 2), draw({3}, 3)}, plain),
      check("layer_norm", "no columns", {draw({3, 0})}, normalized),
      check("layer_norm", "a transposed input",
            {draw_transposed({3, 4}), draw({4}, 2), draw({4}, 3)}, plain),
      check("layer_norm", "every second gain", {draw({3, 2}), draw({4}, 2), draw({2}, 3)},
            [](const auto& in) { return layer_norm(in[0], slice(in[1], 0, 0, 4, 2), in[2]); }),
      check("layer_norm", "an expanded input", {draw({1, 3}), draw({3}, 2), draw({3}, 3)},
            [](const auto& in) {
              return layer_norm(expand(in[0], {4, 3}), in[1], in[2]);
            }),
      check("layer_norm", "one tensor as gain and shift", {draw({2, 3}), draw({3}, 2)},
            [](const auto& in) { return layer_norm(in[0], in[1], in[1]) + in[0]; })};
}

GradientCases rms_norm_cases() {
  const auto plain = [](const auto& in) { return rms_norm(in[0], in[1]); };
  const auto normalized = [](const auto& in) { return rms_norm(in[0], {}); };
  return {
      check("rms_norm", "rows", {draw({3, 5}), draw({5}, 2)}, plain),
      check("rms_norm", "a batch", {draw({2, 2, 4}), draw({4}, 2)}, plain),
      check("rms_norm", "more rows than blocks", {draw({37, 3}), draw({3}, 2)}, plain),
      check("rms_norm", "no gain", {draw({2, 4})}, normalized),
      check("rms_norm", "a vector", {draw({4})}, normalized),
      check("rms_norm", "an axis of size 1", {draw({3, 1}), draw({1}, 2)}, plain),
      check("rms_norm", "no rows", {draw({0, 3}), draw({3}, 2)}, plain),
      check("rms_norm", "no columns", {draw({3, 0})}, normalized),
      check("rms_norm", "a transposed input", {draw_transposed({3, 4}), draw({4}, 2)}, plain),
      check("rms_norm", "gains of 1 + w and a shift", {draw({3, 4}), draw({4}, 2), draw({4}, 3)},
            [](const auto& in) {
              return normalize(in[0], {.gain = in[1],
                                       .shift = in[2],
                                       .epsilon = 1e-5,
                                       .kind = NormKind::rms,
                                       .gain_plus_one = true});
            }),
      check("rms_norm", "an input used twice", {draw({2, 3}), draw({3}, 2)},
            [](const auto& in) { return rms_norm(in[0], in[1]) * in[0]; })};
}

// Each call gets its own running statistics, because training changes them.
GradientCase batch_case(const std::string& description, const Tensor& x, bool training) {
  const Index channels = x.size(1);
  const Tensor mean = draw({channels}, 4).detach();
  const Tensor variance = draw({channels}, 5, {0.5, 2}).detach();
  return check("batch_norm", description, {x, draw({channels}, 2), draw({channels}, 3)},
               [=](const auto& in) {
                 RunningStatistics running{mean.clone(), variance.clone()};
                 return batch_norm(in[0], in[1], in[2], running, {.training = training});
               });
}

GradientCases batch_norm_cases() {
  return {batch_case("training, [N, C]", draw({4, 3}), true),
          batch_case("training, [N, C, L]", draw({2, 3, 4}), true),
          batch_case("training, one channel", draw({5, 1}), true),
          batch_case("training, two values", draw({1, 2, 2}), true),
          batch_case("training, no channels", draw({3, 0}), true),
          batch_case("training, a transposed input", draw_transposed({4, 3}), true),
          batch_case("training, a constant channel",
                     Tensor::ones({3, 1}, DType::float64).set_requires_grad(), true),
          batch_case("evaluating, [N, C]", draw({4, 3}), false),
          batch_case("evaluating, [N, C, L]", draw({2, 3, 4}), false),
          batch_case("evaluating, one row", draw({1, 3}), false),
          batch_case("evaluating, no rows", draw({0, 3}), false)};
}

}  // namespace

GradientCases normalization_cases() {
  GradientCases cases = layer_norm_cases();
  append(cases, rms_norm_cases());
  append(cases, batch_norm_cases());
  return cases;
}

}  // namespace headlight::cli
