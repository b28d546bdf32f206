#include "course/gradcheck/cases.h"
#include "headlight/ops/cross_entropy.h"
#include "headlight/ops/dropout.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/embedding.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/preference.h"

// Cases of ops with token ids: embedding (with dropout) and losses.
namespace headlight::cli {
namespace {

Tensor ids(std::initializer_list<std::int32_t> values) {
  return Tensor::from(values, {static_cast<Index>(values.size())});
}

void lookup_cases(GradientCases& to) {
  const auto lookup = [](const Tensor& rows) {
    return [rows](In weight) { return embedding(weight, rows); };
  };
  const Tensor some = ids({2, 0, 2, 3, 2});
  const Tensor table = reshape(ids({0, 1, 2, 3, 0, 1}), {2, 3});
  // The padding row is constant here: it affects the output but gets no gradient.
  const auto padded = [some](In x) {
    const Tensor padding = Tensor::ones({1, 2}, DType::float64);
    return embedding(concat({slice(x, 0, 0, 2), padding, slice(x, 0, 2, 3)}, 0), some, 2);
  };
  add(to, "embedding", lookup(some),
      {{"repeated and unused rows", {{5, 3}}},
       {"a table of ids", {{4, 2}}, lookup(table)},
       {"a scalar id", {{3, 2}}, lookup(reshape(ids({1}), {}))},
       {"no ids", {{3, 2}}, lookup(ids({}))},
       {"a width of 1", {{4, 1}}},
       {"more columns than a chunk", {{4, 70}}},
       {"a transposed weight", {transposed({4, 3})}},
       {"transposed ids", {{4, 2}}, lookup(transpose(table))},
       {"a weight used twice",
        {{4, 3}},
        [=](In weight) { return embedding(weight, some) * slice(weight, 0, 0, 1); }},
       {"a padding row", {{3, 2}}, padded}});
}

void dropout_cases(GradientCases& to) {
  const Shape wide{4, 3};
  const auto drop = [](double probability) {
    return [=](In x) { return dropout(x, probability, {.seed = 3, .stream = 7}); };
  };
  add(to, "dropout", drop(0.5),
      {{"a tenth", {{4, 7}}, drop(0.1)},
       {"nearly everything", {{5, 5}}, drop(0.9)},
       {"nothing", {{2, 3}}, drop(0)},
       {"no elements", {{0, 3}}},
       {"a scalar", {{}}, drop(0.25)},
       {"a transposed input", {transposed({3, 5})}},
       {"an expanded input", {{1, 3}}, [=](In x) { return drop(0.5)(expand(x, wide)); }},
       {"an input used twice", {{3, 3}}, [=](In x) { return drop(0.5)(x) * x; }}});
}

void cross_entropy_cases(GradientCases& to) {
  const auto loss = [](const Tensor& targets, const CrossEntropyOptions& options = {}) {
    return [=](In logits) { return cross_entropy(logits, targets, options); };
  };
  const auto four = loss(ids({1, 0, 2, 1}));
  add(to, "cross_entropy", four,
      {{"every target counts", {{4, 3}}},
       {"ignored targets", {{4, 3}}, loss(ids({1, -1, -1, 2}))},
       {"a class that is ignored", {{4, 3}}, loss(ids({1, 0, 2, 1}), {.ignore_index = 0})},
       {"every target ignored", {{2, 3}}, loss(ids({-1, -1}))},
       {"a normalizer of its own", {{4, 3}}, loss(ids({1, 0, 2, 1}), {.normalizer = 10})},
       {"smooth targets", {{4, 3}}, loss(ids({1, -1, 2, 1}), {.label_smoothing = 0.2})},
       {"a loss of log Z", {{4, 3}}, loss(ids({1, -1, 2, 1}), {.z_loss = 0.3})},
       {"no rows", {{0, 3}}, loss(ids({}))},
       {"a single class", {{2, 1}}, loss(ids({0, 0}))},
       {"large logits", {within({-300, 300}, {4, 3})}},
       {"transposed logits", {transposed({4, 3})}},
       {"every second column", {{4, 6}}, [=](In x) { return four(slice(x, 1, 0, 6, 2)); }},
       {"a loss that is scaled", {{4, 3}}, [=](In x) { return 2.5 * four(x); }},
       {"logits used twice", {{4, 3}}, [=](In x) { return four(x) * four(x * x); }}});
}

void linear_cross_entropy_cases(GradientCases& to) {
  const auto loss = [](const Tensor& targets, const CrossEntropyOptions& options = {}) {
    return [=](In x, In weight) { return linear_cross_entropy(x, weight, targets, options); };
  };
  const auto four = loss(ids({1, 0, 2, 1}));
  add(to, "linear_cross_entropy", four,
      {{"every target counts", {{4, 2}, {3, 2}}},
       {"ignored targets", {{4, 2}, {3, 2}}, loss(ids({1, -1, -1, 2}))},
       {"every target ignored", {{4, 2}, {3, 2}}, loss(ids({-1, -1, -1, -1}))},
       {"a normalizer of its own", {{4, 2}, {3, 2}}, loss(ids({1, 0, 2, 1}), {.normalizer = 10})},
       {"a soft cap", {{4, 2}, {3, 2}}, loss(ids({1, 0, -1, 1}), {.cap = 0.6})},
       {"smooth targets, a loss of log Z and a soft cap",
        {{4, 2}, {3, 2}},
        loss(ids({1, 0, -1, 1}), {.cap = 0.6, .label_smoothing = 0.2, .z_loss = 0.3})},
       {"no rows", {{0, 2}, {3, 2}}, loss(ids({}))},
       {"a width of 1", {{4, 1}, {3, 1}}},
       {"transposed inputs", {transposed({4, 2}), transposed({3, 2})}},
       {"a frozen weight", {{4, 2}, constant({3, 2})}},
       {"a frozen input", {constant({4, 2}), {3, 2}}},
       {"a loss that is scaled",
        {{4, 2}, {3, 2}},
        [=](In x, In weight) { return 2.5 * four(x, weight); }},
       {"one tensor as input and weight", {{3, 2}}, [=](In x) {
          return linear_cross_entropy(x, x, ids({1, 0, 2}));
        }}});
}

void linear_cross_entropy_rows_cases(GradientCases& to) {
  const auto rows = [](const Tensor& targets, const CrossEntropyOptions& options = {}) {
    return [=](In x, In weight) { return linear_cross_entropy_rows(x, weight, targets, options); };
  };
  add(to, "linear_cross_entropy_rows", rows(ids({1, 0, 2, 1})),
      {{"every target counts", {{4, 2}, {3, 2}}},
       {"ignored targets", {{4, 2}, {3, 2}}, rows(ids({1, -1, -1, 2}))},
       {"every target ignored", {{4, 2}, {3, 2}}, rows(ids({-1, -1, -1, -1}))},
       {"a soft cap", {{4, 2}, {3, 2}}, rows(ids({1, 0, -1, 1}), {.cap = 0.6})},
       {"no rows", {{0, 2}, {3, 2}}, rows(ids({}))},
       {"transposed inputs", {transposed({4, 2}), transposed({3, 2})}},
       {"a frozen weight", {{4, 2}, constant({3, 2})}},
       {"a frozen input", {constant({4, 2}), {3, 2}}},
       {"one tensor as input and weight", {{3, 2}}, [=](In x) {
          return linear_cross_entropy_rows(x, x, ids({1, 0, 2}));
        }}});
}

void preference_loss_cases(GradientCases& to) {
  const auto loss = [](const PreferenceOptions& options = {}) {
    return [=](In losses) {
      return preference_loss(losses, {0, 2, 3, 4, 7}, {{-1.5, -0.5}, {0.25, 2}}, options);
    };
  };
  add(to, "preference_loss", loss(),
      {{"two pairs", {{7}}},
       {"a large beta", {{7}}, loss({.beta = 2})},
       {"a normalizer of its own", {{7}}, loss({.normalizer = 5})},
       {"an answer without tokens",
        {{3}},
        [](In losses) {
          return preference_loss(losses, {0, 0, 3}, {{0.5, 1}});
        }},
       {"margins far from 0", {within({-40, 40}, {7})}, loss({.beta = 1})},
       {"every second element", {{14}}, [=](In x) { return loss()(slice(x, 0, 0, 14, 2)); }},
       {"a loss that is scaled", {{7}}, [=](In x) { return 2.5 * loss()(x); }}});
}

}  // namespace

void embedding_cases(GradientCases& to) {
  lookup_cases(to);
  dropout_cases(to);
}

void loss_cases(GradientCases& to) {
  cross_entropy_cases(to);
  linear_cross_entropy_cases(to);
  linear_cross_entropy_rows_cases(to);
  preference_loss_cases(to);
}

}  // namespace headlight::cli
