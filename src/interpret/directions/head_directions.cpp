#include "headlight/interpret/directions/head_directions.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "interpret/directions/singular_vectors.h"
#include "interpret/effects/frozen_norm.h"
#include "interpret/scores/head_matrices.h"

namespace headlight {
namespace {

// Returns the columns of a matrix [C, D] as rows [D, C], each with the sign with which the largest
// entry of the same row of `by` [D, C] is positive.
Tensor signed_rows(const Tensor& columns, const Tensor& by) {
  const std::vector<double> entries = by.to_vector();
  std::vector<double> signs;
  for (auto row = entries.begin(); row != entries.end(); row += by.size(1)) {
    const double largest = *std::max_element(
        row, row + by.size(1), [](double a, double b) { return std::abs(a) < std::abs(b); });
    signs.push_back(largest < 0 ? -1 : 1);
  }
  return to_contiguous(transpose(columns, 0, 1)) * Tensor::from(signs, {std::ssize(signs), 1});
}

// Adds the tokens of a block to those found, and keeps the `count` largest.
void keep_largest(std::vector<TokenProduct>& found, std::span<const double> products, double sign,
                  Index first, Index count) {
  for (std::size_t i = 0; i < products.size(); ++i) {
    found.push_back({static_cast<std::int32_t>(first + static_cast<Index>(i)), sign * products[i]});
  }
  std::ranges::stable_sort(found, std::greater(), &TokenProduct::product);
  found.resize(std::min(found.size(), static_cast<std::size_t>(count)));
}

}  // namespace

HeadDirections head_directions(const Gpt& model, const HeadId& head, HeadCircuit circuit) {
  const NoGrad no_grad;
  const HeadMatrices matrices =
      head_matrices(model, head.layer, head_index(head, model.heads()), DType::float64);
  const bool is_ov = circuit == HeadCircuit::ov;
  const bool has_norm = model.config().norm == NormPosition::pre;
  const auto read = [&](const Tensor& rows) {  // [D, C], of the stream before the norm
    return has_norm ? FrozenNorm(model, Part::attention_norm, head.layer).pulled_back(rows) : rows;
  };
  const Tensor first = read(is_ov ? matrices.value : matrices.query);  // [D, C]
  const Tensor second =
      is_ov ? matrices.output : to_contiguous(transpose(read(matrices.key), 0, 1));  // [C, D]
  // first^T second^T = from values to^T, by way of first^T = left diag(inner) right^T.
  const SingularVectors outer = singular_vectors(to_contiguous(transpose(first, 0, 1)));
  const Tensor scaled = outer.right * Tensor::from(outer.values, {std::ssize(outer.values)});
  const SingularVectors inner = singular_vectors(matmul(second, scaled));  // [C, D]
  const Tensor to = to_contiguous(transpose(inner.left, 0, 1));
  return {inner.values, signed_rows(matmul(outer.left, inner.right), to),
          signed_rows(inner.left, to)};
}

std::vector<DirectionTokensFound> tokens_along(const Gpt& model, const Tensor& directions,
                                               TokenSide side, Index count,
                                               const std::function<void()>& pause) {
  constexpr Index kTokens = 4'096;  // at once
  const NoGrad no_grad;
  const bool is_read = side == TokenSide::read;
  const Tensor rows = is_read || !model.config().has_final_norm()
                          ? directions
                          : FrozenNorm(model, Part::final_norm, kNoLayer).of(directions);
  const Tensor along = convert(rows, model.dtype());
  const Tensor all = Tensor::arange(model.vocab_size());
  std::vector<DirectionTokensFound> found(static_cast<std::size_t>(directions.size(0)));
  for (Index first = 0; first < model.vocab_size(); first += kTokens) {
    const Tensor ids = slice(all, 0, first, std::min(first + kTokens, model.vocab_size()));
    const Tensor tokens = is_read ? model.scaled_embedding(ids) : model.head_rows(ids);
    const std::vector<double> products =
        matmul(along, transpose(convert(tokens, model.dtype()), 0, 1)).to_vector();  // [K, n]
    const auto width = static_cast<std::size_t>(ids.numel());
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::span<const double> row = std::span(products).subspan(k * width, width);
      keep_largest(found[k].most, row, 1, first, count);
      keep_largest(found[k].least, row, -1, first, count);
    }
    pause();
  }
  for (DirectionTokensFound& one : found) {
    for (TokenProduct& token : one.least) {
      token.product = -token.product;
    }
  }
  return found;
}

}  // namespace headlight
