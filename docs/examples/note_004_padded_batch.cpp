// Note 004: ten padded sequences through an embedding and multi-head attention, shape by shape.
#include <headlight/headlight.h>

#include <cmath>
#include <iostream>

using namespace headlight;

const std::vector<std::vector<std::int32_t>> kData{
    {62, 13, 47, 39, 78, 33, 56, 13, 39, 29, 44, 86, 71, 36, 18, 75},
    {60, 96, 51, 32, 90},
    {35, 45, 48, 65, 91, 99, 92, 10, 3, 21, 54},
    {75, 51},
    {66, 88, 98, 47},
    {21, 39, 10, 64, 21},
    {98},
    {77, 65, 51, 77, 19, 15, 35, 19, 23, 97, 50, 46, 53, 42, 45, 91, 66, 3, 43, 10},
    {70, 64, 98, 25, 99, 53, 4, 13, 69, 62, 66, 76, 15, 75, 45, 34},
    {20, 64, 81, 35, 76, 85, 1, 62, 8, 45, 99, 77, 19, 43}};

int main() {
  constexpr std::int32_t kPadId = 0;
  constexpr Index kVocabSize = 100;
  constexpr Index kWidth = 512;
  constexpr Index kHeads = 8;
  const PaddedBatch data = pad_sequences(kData, kPadId);
  std::cout << "longest sequence: " << data.tokens.size(1) << "\n" << data.tokens << "\n";

  const RandomStream random{4};
  const Embedding embedding({.count = kVocabSize, .width = kWidth}, random.fork(0));
  const Tensor batch_emb = embedding.forward(data.tokens);  // [B, T, C]
  std::cout << batch_emb.shape() << ", made by " << batch_emb.grad_op() << "\n";

  const MultiHeadAttention attention({.width = kWidth, .heads = kHeads}, random.fork(1));
  const Index batch_size = batch_emb.size(0);
  const Index d_k = kWidth / kHeads;
  const auto heads = [&](const char* name) {  // [B, T, C] -> [B, H, T, D]
    for (const auto& [parameter_name, weight] : attention.parameters()) {
      if (parameter_name == std::string(name) + ".weight") {
        const Tensor projected = linear(batch_emb, weight);
        std::cout << name << " " << projected.shape() << "\n";
        return transpose(reshape(projected, {batch_size, -1, kHeads, d_k}), 1, 2);
      }
    }
    fail("no parameter of ", name);
  };
  const Tensor q = heads("q_proj");
  const Tensor k = heads("k_proj");
  const Tensor v = heads("v_proj");
  const Tensor scores = matmul(q, transpose(k, -2, -1)) / std::sqrt(static_cast<double>(d_k));
  const Tensor attn_dists = softmax(scores, -1);
  std::cout << "scores " << scores.shape() << ", weights made by " << attn_dists.grad_op() << "\n";
  const Tensor values = contiguous(transpose(matmul(attn_dists, v), 1, 2));
  std::cout << "values " << values.shape() << ", joined "
            << reshape(values, {batch_size, -1, kWidth}).shape() << "\n";

  // The note lets tokens attend to pads. With a mask of the pads, no weight is lost on them.
  const auto pad_weight = [&](const AttentionMasks& masks) {
    const auto [output, weights] = attention.forward(batch_emb, batch_emb, batch_emb, masks);
    const Tensor real = reshape(logical_not(data.padding_mask), {batch_size, 1, 1, -1});
    return mean(sum(masked_fill(weights, real, 0), {.axes = {-1}}));
  };
  std::cout << "mean weight on pads: without a mask "
            << tensor_text(pad_weight({}).detach(), {.precision = 2}) << ", with one "
            << tensor_text(pad_weight({.key_padding = data.padding_mask}).detach()) << "\n";
}
