#include "cli/gradcheck/cases.h"
#include "headlight/ops/fused_layers.h"

namespace headlight::cli {
namespace {

GradientCases norm_linear_cases() {
  const auto whole = [](const auto& in) {
    return norm_linear(in[0], {in[1], in[2], 1e-5}, in[3], in[4]);
  };
  return {
      check("norm_linear", "rows",
            {draw({3, 4}), draw({4}, 2), draw({4}, 3), draw({5, 4}, 4), draw({5}, 5)}, whole),
      check("norm_linear", "a batch",
            {draw({2, 2, 3}), draw({3}, 2), draw({3}, 3), draw({2, 3}, 4), draw({2}, 5)}, whole),
      check("norm_linear", "transposed operands",
            {draw_transposed({3, 4}), draw({4}, 2), draw({4}, 3), draw_transposed({5, 4}, 4),
             draw({5}, 5)},
            whole),
      check("norm_linear", "no rows",
            {draw({0, 3}), draw({3}, 2), draw({3}, 3), draw({2, 3}, 4), draw({2}, 5)}, whole),
      check("norm_linear", "gain and weight alone", {draw({3, 4}), draw({4}, 2), draw({2, 4}, 3)},
            [](const auto& in) {
              return norm_linear(in[0], {in[1], {}, 1e-5}, in[2]);
            }),
      check("norm_linear", "weight alone", {draw({3, 4}), draw({2, 4}, 2)},
            [](const auto& in) { return norm_linear(in[0], {}, in[1]); })};
}

GradientCases feed_forward_cases() {
  const auto whole = [](const auto& in) {
    return feed_forward(in[0], {.norm = {in[1], in[2], 1e-5},
                                .up_weight = in[3],
                                .up_bias = in[4],
                                .down_weight = in[5],
                                .down_bias = in[6]});
  };
  const auto inputs = [](const Tensor& x) {
    return std::vector<Tensor>{
        x,           draw({4}, 2), draw({4}, 3), draw({6, 4}, 4), draw({6}, 5), draw({4, 6}, 6),
        draw({4}, 7)};
  };
  return {check("feed_forward", "rows", inputs(draw({3, 4})), whole),
          check("feed_forward", "a batch", inputs(draw({2, 2, 4})), whole),
          check("feed_forward", "a transposed input", inputs(draw_transposed({3, 4})), whole),
          check("feed_forward", "no rows", inputs(draw({0, 4})), whole),
          check("feed_forward", "weights alone", {draw({3, 4}), draw({6, 4}, 2), draw({4, 6}, 3)},
                [](const auto& in) {
                  return feed_forward(in[0], {.norm = {},
                                              .up_weight = in[1],
                                              .up_bias = {},
                                              .down_weight = in[2],
                                              .down_bias = {}});
                })};
}

// Cases of every activation, with and without a gate.
GradientCases activation_cases() {
  GradientCases cases;
  for (const auto& [name, activation] : kChoices<Activation>) {
    const Activation chosen = activation;
    const NormParameters norm{
        .gain = {}, .shift = {}, .epsilon = 1e-5, .kind = NormKind::rms, .gain_plus_one = true};
    cases.push_back(check("feed_forward", std::string(name),
                          {draw({3, 4}), draw({4}, 2), draw({5, 4}, 3), draw({4, 5}, 4)},
                          [=](const auto& in) {
                            NormParameters gained = norm;
                            gained.gain = in[1];
                            return feed_forward(in[0], {.norm = gained,
                                                        .up_weight = in[2],
                                                        .up_bias = {},
                                                        .down_weight = in[3],
                                                        .down_bias = {},
                                                        .activation = chosen});
                          }));
    cases.push_back(check("feed_forward", std::string(name) + " of a gate",
                          {draw({3, 4}), draw({5, 4}, 2), draw({5}, 3), draw({4, 5}, 4),
                           draw({4}, 5), draw({5, 4}, 6), draw({5}, 7)},
                          [=](const auto& in) {
                            return feed_forward(in[0], {.norm = norm,
                                                        .up_weight = in[1],
                                                        .up_bias = in[2],
                                                        .down_weight = in[3],
                                                        .down_bias = in[4],
                                                        .gate_weight = in[5],
                                                        .gate_bias = in[6],
                                                        .activation = chosen});
                          }));
  }
  return cases;
}

}  // namespace

GradientCases fused_layer_cases() {
  GradientCases cases = norm_linear_cases();
  append(cases, feed_forward_cases());
  append(cases, activation_cases());
  return cases;
}

}  // namespace headlight::cli
