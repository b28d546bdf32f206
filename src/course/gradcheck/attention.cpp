#include "headlight/ops/attention.h"

#include "course/gradcheck/cases.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/rope.h"

namespace headlight::cli {
namespace {

constexpr RandomStream kDropoutStream{.seed = 5, .stream = 11};

void plain_attention_cases(GradientCases& to) {
  const auto attend = [](const AttentionOptions& options) {
    return [=](In query, In key, In value) {
      return scaled_dot_product_attention(query, key, value, options).output;
    };
  };
  const auto causal = attend({.causal = true});
  const Tensor hidden_row = Tensor::from({false, true, false}, {3, 1});
  const Tensor padding = reshape(padding_mask({3, 1}, 3), {2, 1, 3});
  const auto heads_of_projection = [=](In x) {
    const Tensor heads = permute(reshape(x, {3, 3, 2, 1}), {1, 2, 0, 3});
    const auto part = [&](Index i) { return slice(heads, 0, i, i + 1); };
    return causal(part(0), part(1), part(2));
  };
  const auto weights = [](In query, In key, In value) {
    return scaled_dot_product_attention(query, key, value, {.causal = true}).weights;
  };
  const std::vector<Input> matrices(3, {3, 2});
  const std::vector<Input> two_heads(3, {2, 3, 2});
  const Tensor everything = Tensor::ones({1}, DType::boolean);
  const AttentionOptions dropping{.causal = true, .dropout = 0.3, .random = kDropoutStream};
  add(to, "scaled_dot_product_attention", attend({}),
      {{"a matrix each", matrices},
       {"causal, two heads", two_heads, causal},
       {"cross-attention to wider values", {{2, 3, 2}, {2, 4, 2}, {2, 4, 3}}},
       {"causal with earlier keys", {{2, 2}, {4, 2}, {4, 2}}, causal},
       {"causal with fewer keys than queries", {{4, 2}, {2, 2}, {2, 2}}, causal},
       {"a query that may see nothing", matrices, attend({.mask = hidden_row})},
       {"everything hidden", matrices, attend({.mask = everything})},
       {"padding and causal", two_heads, attend({.mask = padding, .causal = true})},
       {"a scale of its own", matrices, attend({.scale = 1.7})},
       {"a soft cap", two_heads, attend({.causal = true, .cap = 0.4})},
       {"dropout", two_heads, attend(dropping)},
       {"one position", {{1, 1}, {1, 1}, {1, 2}}, causal},
       {"no queries", {{0, 2}, {3, 2}, {3, 2}}},
       {"no batch", {{0, 2, 3, 2}, {0, 2, 3, 2}, {0, 2, 3, 2}}},
       {"keys shared by a batch", {{2, 3, 2}, {4, 2}, {4, 2}}},
       {"transposed inputs", {transposed({3, 2}), transposed({4, 2}), transposed({4, 2})}},
       {"one tensor as query, key and value", {{3, 2}}, [=](In x) { return attend({})(x, x, x); }},
       {"heads of a projection", {{3, 6}}, heads_of_projection},
       {"the weights", matrices, weights}});
}

void ragged_attention_cases(GradientCases& to) {
  const auto attend = [](Index heads, const std::vector<Index>& offsets, double dropout = 0,
                         double scale = 0, double cap = 0) {
    const RaggedAttentionOptions options{.heads = heads,
                                         .window = cap > 0 ? 270 : 0,
                                         .offsets = offsets,
                                         .scale = scale,
                                         .cap = cap,
                                         .dropout = dropout,
                                         .random = kDropoutStream};
    return [=](In x) { return ragged_attention(x, options); };
  };
  const auto halves = attend(2, {0, 4});
  constexpr Index kSample = 40;
  add(to, "ragged_attention", {},
      {{"one token", {{1, 6}}, attend(1, {0, 1})},
       {"one sequence", {{5, 9}}, attend(1, {0, 5})},
       {"several lengths and heads", {{8, 12}}, attend(2, {0, 3, 4, 8})},
       {"an empty sequence", {{5, 6}}, attend(2, {0, 2, 2, 5})},
       {"no sequences", {{0, 12}}, attend(2, {0})},
       {"dropout", {{7, 12}}, attend(2, {0, 4, 7}, 0.3)},
       {"lengths 1 and 65: more queries than a tile", {{66, 12}}, attend(2, {0, 1, 66}), kSample},
       {"length 300: more keys than a tile", {{300, 6}}, attend(1, {0, 300}), kSample},
       {"lengths 1, 65 and 300, three heads, dropout",
        {{366, 9}},
        attend(3, {0, 65, 66, 366}, 0.2),
        kSample},
       {"a transposed input", {transposed({4, 6})}, attend(2, {0, 1, 4})},
       {"a scale of its own", {{4, 6}}, attend(1, {0, 4}, 0, 1.7)},
       {"a soft cap", {{7, 12}}, attend(2, {0, 4, 7}, 0.3, 2, 0.4)},
       {"length 300, a window and a soft cap", {{300, 6}}, attend(1, {0, 300}, 0, 0, 0.4), kSample},
       {"an input used twice", {{4, 6}}, [=](In x) { return halves(x) * slice(x, 1, 0, 2); }}});
}

}  // namespace

void rope_cases(GradientCases& to) {
  const auto turn = [](const RopeOptions& options) {
    return [=](In x) {
      Tensor positions = Tensor::empty({x.size(0)}, DType::int32);
      for (Index row = 0; row < x.size(0); ++row) {
        positions.data<std::int32_t>()[row] = static_cast<std::int32_t>(7 * row % 5);
      }
      return rope(x, positions, options);
    };
  };
  constexpr RotaryStyle kPairs = RotaryStyle::interleaved;
  const RopeOptions llama{
      .scaling = RopeScaling::llama3, .factor = 8, .original_max_position_embeddings = 64};
  const auto twice = [](In in) {
    const Tensor x = permute(in, {1, 0, 2});
    const Tensor positions = Tensor::from({std::int32_t{0}, 3, 9}, {3});
    return rope(x, positions) * x;
  };
  add(to, "rope", turn({}),
      {{"halves", {{3, 2, 6}}},
       {"pairs", {{3, 2, 6}}, turn({.style = kPairs})},
       {"negative angles", {{3, 2, 6}}, turn({.reversed = true})},
       {"a part of the width", {{3, 2, 5}}, turn({.width = 4})},
       {"pairs of a part of the width", {{2, 1, 5}}, turn({.width = 2, .style = kPairs})},
       {"linear scaling", {{3, 1, 4}}, turn({.scaling = RopeScaling::linear, .factor = 4})},
       {"Llama 3's scaling", {{3, 1, 8}}, turn(llama)},
       {"more pairs than are computed together", {{1, 1, 140}}},
       {"no rows", {{0, 2, 4}}},
       {"no heads", {{2, 0, 4}}},
       {"transposed heads, used twice", {{2, 3, 4}}, twice}});
}

void attention_cases(GradientCases& to) {
  plain_attention_cases(to);
  ragged_attention_cases(to);
}

}  // namespace headlight::cli
