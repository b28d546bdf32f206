#include "cli/gradcheck/cases.h"
#include "headlight/ops/cross_entropy.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"

namespace headlight::cli {
namespace {

Tensor targets_of(std::initializer_list<std::int32_t> values) {
  return Tensor::from(values, {static_cast<Index>(values.size())});
}

GradientCase loss(const std::string& description, const Tensor& logits, const Tensor& targets,
                  const CrossEntropyOptions& options = {}) {
  return check("cross_entropy", description, {logits},
               [=](const auto& in) { return cross_entropy(in[0], targets, options); });
}

GradientCases cross_entropy_cases() {
  const Tensor four = targets_of({1, 0, 2, 1});
  return {loss("every target counts", draw({4, 3}), four),
          loss("ignored targets", draw({4, 3}), targets_of({1, -1, -1, 2})),
          loss("a class that is ignored", draw({4, 3}), four, {.ignore_index = 0}),
          loss("every target ignored", draw({2, 3}), targets_of({-1, -1})),
          loss("a normalizer of its own", draw({4, 3}), four, {.normalizer = 10}),
          loss("no rows", draw({0, 3}), targets_of({})),
          loss("a single class", draw({2, 1}), targets_of({0, 0})),
          loss("large logits", draw({4, 3}, 1, {-300, 300}), four),
          loss("transposed logits", draw_transposed({4, 3}), four),
          check("cross_entropy", "every second column", {draw({4, 6})},
                [four](const auto& in) { return cross_entropy(slice(in[0], 1, 0, 6, 2), four); }),
          check("cross_entropy", "a loss that is scaled", {draw({4, 3})},
                [four](const auto& in) { return 2.5 * cross_entropy(in[0], four); }),
          check("cross_entropy", "logits used twice", {draw({4, 3})}, [four](const auto& in) {
            return cross_entropy(in[0], four) * cross_entropy(in[0] * in[0], four);
          })};
}

GradientCase fused(const std::string& description, const std::vector<Tensor>& inputs,
                   const Tensor& targets, const CrossEntropyOptions& options = {}) {
  return check("linear_cross_entropy", description, inputs, [=](const auto& in) {
    return linear_cross_entropy(in[0], in[1], targets, options);
  });
}

GradientCases linear_cross_entropy_cases() {
  const Tensor four = targets_of({1, 0, 2, 1});
  const std::vector<Tensor> inputs{draw({4, 2}), draw({3, 2}, 2)};
  return {fused("every target counts", inputs, four),
          fused("ignored targets", inputs, targets_of({1, -1, -1, 2})),
          fused("every target ignored", inputs, targets_of({-1, -1, -1, -1})),
          fused("a normalizer of its own", inputs, four, {.normalizer = 10}),
          fused("no rows", {draw({0, 2}), draw({3, 2}, 2)}, targets_of({})),
          fused("a width of 1", {draw({4, 1}), draw({3, 1}, 2)}, four),
          fused("transposed inputs", {draw_transposed({4, 2}), draw_transposed({3, 2}, 2)}, four),
          fused("a frozen weight", {draw({4, 2}), draw({3, 2}, 2).detach()}, four),
          fused("a frozen input", {draw({4, 2}).detach(), draw({3, 2}, 2)}, four),
          check("linear_cross_entropy", "a loss that is scaled", inputs,
                [four](const auto& in) { return 2.5 * linear_cross_entropy(in[0], in[1], four); }),
          check("linear_cross_entropy", "one tensor as input and weight", {draw({3, 2})},
                [](const auto& in) {
                  return linear_cross_entropy(in[0], in[0], targets_of({1, 0, 2}));
                })};
}

}  // namespace

GradientCases loss_cases() {
  GradientCases cases = cross_entropy_cases();
  append(cases, linear_cross_entropy_cases());
  return cases;
}

}  // namespace headlight::cli
