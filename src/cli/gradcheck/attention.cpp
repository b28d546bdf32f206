#include "headlight/ops/attention.h"
#include "cli/gradcheck/cases.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"

namespace headlight::cli {
namespace {

constexpr RandomStream kDropoutStream{.seed = 5, .stream = 11};

// Sizes of query, key and value: T queries and S keys of width D, values of width Dv.
struct AttentionSizes {
  Shape leading{};
  Index queries = 3;      // T
  Index keys = 3;         // S
  Index width = 2;        // D
  Index value_width = 2;  // Dv
};

std::vector<Tensor> query_key_value(const AttentionSizes& sizes) {
  const auto matrix = [&](Index rows, Index columns, std::uint64_t stream) {
    Shape shape = sizes.leading;
    shape.push_back(rows);
    shape.push_back(columns);
    return draw(shape, stream);
  };
  return {matrix(sizes.queries, sizes.width, 1), matrix(sizes.keys, sizes.width, 2),
          matrix(sizes.keys, sizes.value_width, 3)};
}

GradientCase attend(const std::string& description, const std::vector<Tensor>& inputs,
                    const AttentionOptions& options = {}) {
  return check("scaled_dot_product_attention", description, inputs, [options](const auto& in) {
    return scaled_dot_product_attention(in[0], in[1], in[2], options).output;
  });
}

GradientCases plain_attention_cases() {
  const AttentionOptions causal{.causal = true};
  const AttentionOptions dropped{.causal = true, .dropout = 0.3, .random = kDropoutStream};
  const Tensor hidden_row = Tensor::from({false, true, false}, {3, 1});
  const Tensor padding = reshape(padding_mask({3, 1}, 3), {2, 1, 3});
  return {
      attend("a matrix each", query_key_value({})),
      attend("causal, two heads", query_key_value({.leading = {2}}), causal),
      attend("cross-attention to wider values",
             query_key_value({.leading = {2}, .keys = 4, .value_width = 3})),
      attend("causal with earlier keys", query_key_value({.queries = 2, .keys = 4}), causal),
      attend("causal with fewer keys than queries", query_key_value({.queries = 4, .keys = 2}),
             causal),
      attend("a query that may see nothing", query_key_value({}), {.mask = hidden_row}),
      attend("everything hidden", query_key_value({}), {.mask = Tensor::ones({1}, DType::boolean)}),
      attend("padding and causal", query_key_value({.leading = {2}}),
             {.mask = padding, .causal = true}),
      attend("a scale of its own", query_key_value({}), {.scale = 1.7}),
      attend("dropout", query_key_value({.leading = {2}}), dropped),
      attend("one position", query_key_value({.queries = 1, .keys = 1, .width = 1}), causal),
      attend("no queries", query_key_value({.queries = 0})),
      attend("no batch", query_key_value({.leading = {0, 2}})),
      attend("keys shared by a batch", {draw({2, 3, 2}), draw({4, 2}, 2), draw({4, 2}, 3)}),
      attend("transposed inputs",
             {draw_transposed({3, 2}), draw_transposed({4, 2}, 2), draw_transposed({4, 2}, 3)}),
      check(
          "scaled_dot_product_attention", "heads of a projection", {draw({3, 6})},
          [](const auto& in) {
            const Tensor heads = permute(reshape(in[0], {3, 3, 2, 1}), {1, 2, 0, 3});
            const auto part = [&](Index i) { return slice(heads, 0, i, i + 1); };
            return scaled_dot_product_attention(part(0), part(1), part(2), {.causal = true}).output;
          }),
      check("scaled_dot_product_attention", "the weights", query_key_value({}),
            [](const auto& in) {
              return scaled_dot_product_attention(in[0], in[1], in[2], {.causal = true}).weights;
            }),
      check(
          "scaled_dot_product_attention", "one tensor as query, key and value", {draw({3, 2})},
          [](const auto& in) { return scaled_dot_product_attention(in[0], in[0], in[0]).output; })};
}

// Self-attention over sequences of these lengths, with `heads` heads of width `head_width`.
GradientCase fused(const std::string& description, const std::vector<Index>& lengths, Index heads,
                   Index head_width, double dropout = 0) {
  RaggedAttentionOptions options{.heads = heads, .dropout = dropout, .random = kDropoutStream};
  options.offsets = {0};
  for (const Index length : lengths) {
    options.offsets.push_back(options.offsets.back() + length);
  }
  const Index rows = options.offsets.back();
  return {"ragged_attention",
          description,
          {draw({rows, 3 * heads * head_width})},
          [options](const auto& in) { return ragged_attention(in[0], options); },
          rows > 20 ? 40 : 0};  // long sequences: a random sample of elements
}

GradientCases ragged_attention_cases() {
  return {fused("one token", {1}, 1, 2),
          fused("one sequence", {5}, 1, 3),
          fused("several lengths and heads", {3, 1, 4}, 2, 2),
          fused("an empty sequence", {2, 0, 3}, 2, 1),
          fused("no sequences", {}, 2, 2),
          fused("dropout", {4, 3}, 2, 2, 0.3),
          fused("lengths 1 and 65: more queries than a tile", {1, 65}, 2, 2),
          fused("length 300: more keys than a tile", {300}, 1, 2),
          fused("lengths 1, 65 and 300, three heads, dropout", {65, 1, 300}, 3, 1, 0.2),
          check("ragged_attention", "a transposed input", {draw_transposed({4, 6})},
                [](const auto& in) {
                  return ragged_attention(in[0], {.heads = 2, .offsets = {0, 1, 4}});
                }),
          check("ragged_attention", "a scale of its own", {draw({4, 6})},
                [](const auto& in) {
                  return ragged_attention(in[0], {.heads = 1, .offsets = {0, 4}, .scale = 1.7});
                }),
          check("ragged_attention", "an input used twice", {draw({4, 6})}, [](const auto& in) {
            const RaggedAttentionOptions options{.heads = 2, .offsets = {0, 4}};
            return ragged_attention(in[0], options) * slice(in[0], 1, 0, 2);
          })};
}

}  // namespace

GradientCases attention_cases() {
  GradientCases cases = plain_attention_cases();
  append(cases, ragged_attention_cases());
  return cases;
}

}  // namespace headlight::cli
