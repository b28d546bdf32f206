// Note 000: scaled dot-product attention and multi-head attention from single ops.
#include <headlight/headlight.h>

#include <cmath>
#include <iostream>
#include <limits>

using namespace headlight;

AttentionResult attend(const Tensor& Q, const Tensor& K, const Tensor& V, const Tensor& mask = {}) {
  Tensor scores = matmul(Q, transpose(K, -2, -1)) / std::sqrt(double(K.size(-1)));
  if (mask.defined()) {
    scores = masked_fill(scores, equal(mask, 0), -std::numeric_limits<double>::infinity());
  }
  const Tensor weights = softmax(scores, -1);
  return {matmul(weights, V), weights};
}

class HandMadeAttention : public Module {
 public:
  HandMadeAttention(Index d_model, Index num_heads, double dropout, const RandomStream& random)
      : num_heads_(num_heads),
        w_q_({d_model, d_model}, random.fork(0)),
        w_k_({d_model, d_model}, random.fork(1)),
        w_v_({d_model, d_model}, random.fork(2)),
        w_o_({d_model, d_model}, random.fork(3)),
        dropout_(dropout) {
    register_module("q_proj", w_q_);
    register_module("k_proj", w_k_);
    register_module("v_proj", w_v_);
    register_module("c_proj", w_o_);
  }

  AttentionResult forward(const Tensor& x, const Tensor& mask = {},
                          const ForwardContext& context = {}) const {
    const Tensor wide = mask.defined() ? unsqueeze(unsqueeze(mask, 0), 0) : mask;
    const auto project = [&](const Linear& w) { return split_heads(w.forward(x)); };
    const auto [heads, weights] = attend(project(w_q_), project(w_k_), project(w_v_), wide);
    const Tensor joined = reshape(contiguous(transpose(heads, 1, 2)), x.shape());
    return {dropout_.forward(w_o_.forward(joined), context), weights};
  }

 private:
  // [B, T, C] -> [B, H, T, D]
  Tensor split_heads(const Tensor& x) const {
    return transpose(reshape(x, {x.size(0), -1, num_heads_, x.size(-1) / num_heads_}), 1, 2);
  }

  Index num_heads_;
  Linear w_q_, w_k_, w_v_, w_o_;
  Dropout dropout_;
};

int main() {
  const RandomStream random{42};
  const Tensor Q = random_normal({2, 4, 8}, random.fork(0));
  const Tensor K = random_normal({2, 4, 8}, random.fork(1));
  const Tensor V = random_normal({2, 4, 8}, random.fork(2));
  const auto [output, weights] = attend(Q, K, V);
  std::cout << "output " << output.shape() << ", weights " << weights.shape() << "\n"
            << select(weights, 0, 0) << "\nsums of rows "
            << sum(select(weights, 0, 0), {.axes = {-1}}) << "\n";
  const Tensor keep = tril(Tensor::ones({4, 4}));  // 1: visible
  std::cout << select(attend(Q, K, V, keep).weights, 0, 0) << "\n";

  const HandMadeAttention mha(64, 8, 0.1, random.fork(3));
  const MultiHeadAttention built_in({.width = 64, .heads = 8}, random.fork(3));  // same weights
  const Tensor x = random_normal({2, 4, 64}, random.fork(4));
  const Tensor expected = built_in.forward(x, x, x, {.causal = true}).output;
  std::cout << mha.parameter_count() << " parameters; equals MultiHeadAttention: "
            << allclose(mha.forward(x, keep).output, expected, {.absolute = 1e-6}) << "\n";
  std::cout.precision(2);
  for (const Index d_k : {8, 64, 512}) {
    const Tensor scores = matmul(random_normal({1, 4, d_k}, random.fork(5)),
                                 transpose(random_normal({1, 4, d_k}, random.fork(6))));
    const Tensor scaled = scores / std::sqrt(double(d_k));
    std::cout << "largest weight for d_k " << d_k << ": " << max(softmax(scores)).item()
              << ", scaled " << max(softmax(scaled)).item() << "\n";
  }
}
