#include "heads/circuit/stream_reader.h"

#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"

namespace headlight {
namespace {

// The rows of a part of c_attn, head by head: [R, D, C], of biases [R, 1, D].
struct PartWeights {
  Tensor weight;
  Tensor bias;  // undefined without one
};

PartWeights part_weights(const Gpt& model, Index layer, Index part) {
  const AttentionPlan plan = block_plan(model.config(), layer).attention;
  const Index first = plan.part_begin(part);
  const Index heads = plan.part_heads(part);
  const Index last = first + heads * plan.head_width;
  const Tensor weight = model.weight(Part::query_key_value, layer);
  const Tensor bias = model.bias(Part::query_key_value, layer);
  return {reshape(slice(weight, 0, first, last), {heads, plan.head_width, weight.size(1)}),
          bias.defined() ? reshape(slice(bias, 0, first, last), {heads, 1, plan.head_width})
                         : Tensor()};
}

}  // namespace

Tensor read_by_heads(const Gpt& model, Index layer, Index part, const Tensor& streams) {
  const PartWeights weights = part_weights(model, layer, part);
  const Shape rows{streams.size(0) * streams.size(1), streams.size(2)};
  const LayerNorm& norm = model.block(layer).norm(Branch::attention);
  const Tensor normalized = reshape(norm.forward(reshape(streams, rows)), streams.shape());
  Tensor read = matmul(normalized, transpose(weights.weight, 1, 2));  // [R, N, D]
  read = weights.bias.defined() ? read + weights.bias : read;
  return transpose(read, 0, 1);
}

Tensor read_gradient(const Gpt& model, Index layer, Index part, const Tensor& streams,
                     const Tensor& gradient) {
  const PartWeights weights = part_weights(model, layer, part);
  const Tensor behind_norm = matmul(transpose(gradient, 0, 1), weights.weight);  // [R, N, C]
  const Shape rows{streams.size(0) * streams.size(1), streams.size(2)};
  return reshape(norm_gradient(model.block(layer).norm(Branch::attention), reshape(streams, rows),
                               reshape(behind_norm, rows)),
                 streams.shape());
}

Tensor norm_gradient(const LayerNorm& norm, const Tensor& streams, const Tensor& gradient) {
  Tensor leaf = to_contiguous(streams.detach()).clone();
  leaf.set_requires_grad();
  backward(sum(norm.forward(leaf) * gradient.detach()));
  return leaf.grad();
}

}  // namespace headlight
