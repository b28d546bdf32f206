#include "headlight/ops/normalization.h"

#include "course/gradcheck/cases.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/softmax.h"

namespace headlight::cli {
namespace {

void along_axis(GradientCases& to, const std::string& op, Tensor (*f)(In, Index)) {
  const Shape wide{3, 4};
  const auto over = [f](Index axis) { return [=](In x) { return f(x, axis); }; };
  add(to, op, over(-1),
      {{"the last axis", {{3, 5}}},
       {"the first axis", {{3, 4}}, over(0)},
       {"the middle axis", {{2, 3, 2}}, over(1)},
       {"an axis of size 1", {{3, 1}}},
       {"no elements", {{2, 0}}},
       {"no rows", {{0, 3}}},
       {"large scores", {within({300, 302}, {2, 4})}},
       {"a transposed input", {transposed({3, 4})}},
       {"an expanded input", {{3, 1}}, [=](In x) { return f(expand(x, wide), -1); }},
       {"an input used twice", {{2, 3}}, [f](In x) { return f(x, -1) * x; }}});
}

void masked_softmax_cases(GradientCases& to) {
  const auto masked = [](const Tensor& mask) {
    return [mask](In x) { return masked_softmax(x, mask); };
  };
  const Tensor padding = reshape(padding_mask({4, 2}, 4), {2, 1, 4});
  const Tensor second_row = Tensor::from({false, true, false}, {3, 1});
  const auto nothing = masked(Tensor::zeros({3}, DType::boolean));
  add(to, "masked_softmax", nothing,
      {{"a causal mask", {{4, 4}}, masked(causal_mask(4))},
       {"a mask shared by heads", {{2, 3, 3}}, masked(causal_mask(3))},
       {"padding of a batch", {{2, 3, 4}}, masked(padding)},
       {"a row with everything hidden", {{3, 4}}, masked(second_row)},
       {"everything hidden", {{2, 3}}, masked(Tensor::ones({2, 3}, DType::boolean))},
       {"nothing hidden", {{2, 3}}},
       {"no elements", {{0, 3}}},
       {"an input used twice",
        {{3, 3}},
        [](In x) { return masked_softmax(x, causal_mask(3)) * x; }},
       {"a transposed input", {transposed({3, 4})}, masked(causal_mask(3, 4))}});
}

void layer_norm_cases(GradientCases& to) {
  const Shape wide{4, 3};
  const auto normalized = [](In x) { return layer_norm(x, {}, {}); };
  add(to, "layer_norm", [](In x, In gain, In shift) { return layer_norm(x, gain, shift); },
      {{"rows", {{3, 5}, {5}, {5}}},
       {"a batch", {{2, 2, 4}, {4}, {4}}},
       {"more rows than blocks", {{37, 3}, {3}, {3}}},
       {"gain alone", {{2, 4}, {4}}, [](In x, In gain) { return layer_norm(x, gain, {}); }},
       {"shift alone", {{2, 4}, {4}}, [](In x, In shift) { return layer_norm(x, {}, shift); }},
       {"neither gain nor shift", {{2, 4}}, normalized},
       {"a vector", {{4}}, normalized},
       {"an axis of size 1", {{3, 1}, {1}, {1}}},
       {"a constant row", {filled({1, 3}, 1)}, normalized},
       {"no rows", {{0, 3}, {3}, {3}}},
       {"no columns", {{3, 0}}, normalized},
       {"a transposed input", {transposed({3, 4}), {4}, {4}}},
       {"every second gain",
        {{3, 2}, {4}, {2}},
        [](In x, In gain, In shift) { return layer_norm(x, slice(gain, 0, 0, 4, 2), shift); }},
       {"an expanded input",
        {{1, 3}, {3}, {3}},
        [=](In x, In gain, In shift) { return layer_norm(expand(x, wide), gain, shift); }},
       {"one tensor as gain and shift", {{2, 3}, {3}}, [](In x, In both) {
          return layer_norm(x, both, both) + x;
        }}});
}

void rms_norm_cases(GradientCases& to) {
  const auto normalized = [](In x) { return rms_norm(x, {}); };
  const auto plus_one = [](In x, In gain, In shift) {
    return normalize(x, {gain, shift, 1e-5, NormKind::rms, true});
  };
  add(to, "rms_norm", [](In x, In gain) { return rms_norm(x, gain); },
      {{"rows", {{3, 5}, {5}}},
       {"a batch", {{2, 2, 4}, {4}}},
       {"more rows than blocks", {{37, 3}, {3}}},
       {"no gain", {{2, 4}}, normalized},
       {"a vector", {{4}}, normalized},
       {"an axis of size 1", {{3, 1}, {1}}},
       {"no rows", {{0, 3}, {3}}},
       {"no columns", {{3, 0}}, normalized},
       {"a transposed input", {transposed({3, 4}), {4}}},
       {"an input used twice", {{2, 3}, {3}}, [](In x, In gain) { return rms_norm(x, gain) * x; }},
       {"gains of 1 + w and a shift", {{3, 4}, {4}, {4}}, plus_one}});
}

void batch_norm_cases(GradientCases& to) {
  const auto channels = [&](const std::string& description, const Input& x, bool training) {
    const Index count = x.leaf.defined() ? x.leaf.size(1) : x.shape[1];
    const Tensor mean = draw({count}, 4).detach();
    const Tensor variance = draw({count}, 5, {0.5, 2}).detach();
    // Each call gets its own running statistics, because training changes them.
    const auto normalized = [=](In values, In gain, In shift) {
      RunningStatistics running{mean.clone(), variance.clone()};
      return batch_norm(values, gain, shift, running, {.training = training});
    };
    add(to, "batch_norm", normalized, {{description, {x, {count}, {count}}}});
  };
  channels("training, [N, C]", {4, 3}, true);
  channels("training, [N, C, L]", {2, 3, 4}, true);
  channels("training, one channel", {5, 1}, true);
  channels("training, two values", {1, 2, 2}, true);
  channels("training, no channels", {3, 0}, true);
  channels("training, a transposed input", transposed({4, 3}), true);
  channels("training, a constant channel", filled({3, 1}, 1), true);
  channels("evaluating, [N, C]", {4, 3}, false);
  channels("evaluating, [N, C, L]", {2, 3, 4}, false);
  channels("evaluating, one row", {1, 3}, false);
  channels("evaluating, no rows", {0, 3}, false);
}

}  // namespace

void softmax_cases(GradientCases& to) {
  along_axis(to, "softmax", softmax);
  along_axis(to, "log_softmax", log_softmax);
  masked_softmax_cases(to);
}

void normalization_cases(GradientCases& to) {
  layer_norm_cases(to);
  rms_norm_cases(to);
  batch_norm_cases(to);
}

}  // namespace headlight::cli
