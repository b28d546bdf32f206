// Note 001: multi-head self-attention with queries, keys and values from one projection.
#include <headlight/headlight.h>

#include <cmath>
#include <iostream>

using namespace headlight;

class MultiHeadSelfAttention : public Module {
 public:
  MultiHeadSelfAttention(Index embed_dim, Index num_heads, const RandomStream& random)
      : num_heads_(num_heads),
        head_dim_(embed_dim / num_heads),
        qkv_proj_({embed_dim, embed_dim * 3}, random.fork(0)),
        out_proj_({embed_dim, embed_dim}, random.fork(1)) {
    require(embed_dim % num_heads == 0, embed_dim, " is no multiple of ", num_heads);
    register_module("qkv_proj", qkv_proj_);
    register_module("out_proj", out_proj_);
  }

  Tensor forward(const Tensor& x) const {
    const Index B = x.size(0);
    const Index T = x.size(1);
    const Index E = x.size(2);
    Tensor qkv = qkv_proj_.forward(x);  // [B, T, 3 E]
    qkv = permute(reshape(qkv, {B, T, 3, num_heads_, head_dim_}), {2, 0, 3, 1, 4});
    const Tensor Q = select(qkv, 0, 0);  // [B, H, T, D]
    const Tensor K = select(qkv, 0, 1);
    const Tensor V = select(qkv, 0, 2);
    const Tensor scores = matmul(Q, transpose(K)) / std::sqrt(static_cast<double>(head_dim_));
    const Tensor attention = matmul(softmax(scores, -1), V);
    return out_proj_.forward(reshape(transpose(attention, 1, 2), {B, T, E}));
  }

 private:
  Index num_heads_;
  Index head_dim_;
  Linear qkv_proj_;
  Linear out_proj_;
};

int main() {
  const MultiHeadSelfAttention attention(16, 4, {7});
  const Tensor x = random_normal({2, 5, 16}, {8});
  const Tensor output = attention.forward(x);
  std::cout << "input " << x.shape() << ", output " << output.shape() << ", made by "
            << output.grad_op() << "\n";
  std::cout << tensor_text(output, {.threshold = 20, .edge_items = 2}) << "\n";

  // Self-attention without positions treats a sequence as a set: a swap of two tokens swaps their
  // outputs.
  const auto swapped = [](const Tensor& y) {
    return concat({slice(y, 1, 1, 2), slice(y, 1, 0, 1), slice(y, 1, 2, 5)}, 1);
  };
  std::cout << "swapped tokens give swapped outputs: "
            << allclose(attention.forward(swapped(x)), swapped(output), {.absolute = 1e-6}) << "\n";

  // All heads and the projection learn together.
  backward(mean(output * output));
  for (const auto& [name, parameter] : attention.parameters()) {
    std::cout << name << " " << parameter.shape() << ", gradient " << parameter.grad().shape()
              << "\n";
  }
}
