// Note 003: every number of self-attention, multi-head attention and a causal mask; two norms.
#include <headlight/headlight.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <string>

using namespace headlight;

void show(const std::string& name, const Tensor& x, const PrintOptions& options = {}) {
  PrintOptions aligned = options;
  aligned.indent = std::ssize(name) + 3;
  std::cout << name << " = " << tensor_text(x, aligned) << "\n";
}

Tensor matrix(const std::vector<float>& values, Index columns) {
  return Tensor::from(values, {std::ssize(values) / columns, columns});
}

void self_attention(const Tensor& x) {
  const Tensor querys = matmul(x, matrix({1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1}, 3));
  const Tensor keys = matmul(x, matrix({0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0}, 3));
  const Tensor values = matmul(x, matrix({0, 2, 0, 0, 3, 0, 1, 0, 3, 1, 1, 0}, 3));
  const Tensor scores = matmul(querys, transpose(keys));
  show("attn_scores", scores);
  const Tensor root = sqrt(Tensor::scalar(static_cast<double>(keys.size(-1))));
  show("key_dim_sqrt", root);
  const Tensor weights = softmax(scores / root, -1);
  show("attn_scores_softmax", weights);
  show("weighted_values", matmul(weights, values));
}

void multi_head_attention(const Tensor& x, bool causal) {
  const PrintOptions plain{.scientific = false};
  const Index T = x.size(0);
  const auto heads = [&](const Tensor& projected) { return reshape(projected, {T, 2, 2}); };
  const Tensor Qh = heads(matmul(x, matrix({1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1}, 4)));
  const Tensor Kh = heads(matmul(x, matrix({0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1}, 4)));
  const Tensor Vh = heads(matmul(x, matrix({1, 0, 2, 0, 0, 1, 0, 2, 1, 0, 0, 1, 0, 1, 1, 0}, 4)));
  const Tensor W_O = matrix({1, 0, .5, 0, 0, 1, 0, .5, .5, 0, 1, 0, 0, .5, 0, 1}, 4);
  Tensor scores = einsum("thd,shd->hts", Qh, Kh);
  if (causal) {
    const Tensor mask = triu(Tensor::ones({T, T}, DType::boolean), 1);
    show("causal_mask", mask);
    scores = masked_fill(scores, unsqueeze(mask, 0), -std::numeric_limits<double>::infinity());
    show("scores_masked", scores, plain);
  }
  const Tensor attn = softmax(scores / std::sqrt(2.0), -1);
  show("attn", attn, plain);
  const Tensor out_concat = reshape(einsum("hts,shd->thd", attn, Vh), {T, 4});
  show("out_concat", out_concat, plain);
  show("out", matmul(out_concat, W_O), plain);
}

void norms(const Tensor& input) {
  const LayerNorm layer({.width = input.size(-1)});
  BatchNorm1d batch({.width = input.size(-1)});
  show("layer_norm", layer.forward(input));
  show("batch_norm", batch.forward(input, {.training = true}));
  const ReduceOptions over_features{.axes = {-1}, .keepdim = true};
  const Tensor deviation = stddev(input, over_features, 0);
  show("mean", squeeze(mean(input, over_features)));
  show("std", squeeze(deviation));
  show("by_hand", (input - mean(input, over_features)) / (deviation + 1e-7));
}

int main() {
  const Tensor x = matrix({1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1}, 4);
  self_attention(x);
  multi_head_attention(x, false);
  multi_head_attention(x, true);
  norms(matrix({1, 2, 3, 1, 1, 1}, 3));
}
