#include "headlight/ops/embedding.h"
#include "cli/gradcheck/cases.h"
#include "headlight/ops/dropout.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"

namespace headlight::cli {
namespace {

Tensor ids_of(std::initializer_list<std::int32_t> values, const Shape& shape) {
  return Tensor::from(values, shape);
}

GradientCases lookup_cases() {
  const auto lookup = [](const std::string& description, const Tensor& weight, const Tensor& ids) {
    return GradientCase{"embedding", description, {weight}, [ids](const auto& in) {
                          return embedding(in[0], ids);
                        }};
  };
  const Tensor some = ids_of({2, 0, 2, 3, 2}, {5});
  const Tensor table = ids_of({0, 1, 2, 3, 0, 1}, {2, 3});
  return {lookup("repeated and unused rows", draw({5, 3}), some),
          lookup("a table of ids", draw({4, 2}), table),
          lookup("a scalar id", draw({3, 2}), ids_of({1}, {})),
          lookup("no ids", draw({3, 2}), ids_of({}, {0})),
          lookup("a width of 1", draw({4, 1}), some),
          lookup("more columns than a chunk", draw({4, 70}), some),
          lookup("a transposed weight", draw_transposed({4, 3}), some),
          lookup("transposed ids", draw({4, 2}), transpose(table)),
          // The padding row is constant here: it affects the output but gets no gradient.
          check("embedding", "a padding row", {draw({3, 2})},
                [some](const auto& in) {
                  const Tensor padding = Tensor::ones({1, 2}, DType::float64);
                  return embedding(
                      concat({slice(in[0], 0, 0, 2), padding, slice(in[0], 0, 2, 3)}, 0), some, 2);
                }),
          check("embedding", "a weight used twice", {draw({4, 3})},
                [some](const auto& in) { return embedding(in[0], some) * slice(in[0], 0, 0, 1); })};
}

GradientCases dropout_cases() {
  const auto drop = [](const std::string& description, const Tensor& x, double probability) {
    return GradientCase{"dropout", description, {x}, [probability](const auto& in) {
                          return dropout(in[0], probability, {.seed = 3, .stream = 7});
                        }};
  };
  return {drop("a tenth", draw({4, 7}), 0.1),
          drop("nearly everything", draw({5, 5}), 0.9),
          drop("nothing", draw({2, 3}), 0),
          drop("no elements", draw({0, 3}), 0.5),
          drop("a scalar", draw({}), 0.25),
          drop("a transposed input", draw_transposed({3, 5}), 0.5),
          check("dropout", "an expanded input", {draw({1, 3})},
                [](const auto& in) {
                  return dropout(expand(in[0], {4, 3}), 0.5, {.seed = 3, .stream = 7});
                }),
          check("dropout", "an input used twice", {draw({3, 3})}, [](const auto& in) {
            return dropout(in[0], 0.5, {.seed = 3, .stream = 7}) * in[0];
          })};
}

}  // namespace

GradientCases embedding_cases() {
  GradientCases cases = lookup_cases();
  append(cases, dropout_cases());
  return cases;
}

}  // namespace headlight::cli
