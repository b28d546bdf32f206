#include "interpret/circuit/stream_reader.h"

#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"

namespace headlight {
namespace {

// Rows of one part of c_attn by head: weights [R, D, C], biases [R, 1, D].
struct PartWeights {
  Tensor weight;
  Tensor bias;  // undefined without one
};

PartWeights part_weights(const Gpt& model, Index layer, Index part) {
  const AttentionPlan plan = block_plan(model.config(), layer).attention;
  const Index first = plan.part_begin(part);
  const Index heads = plan.part_heads(part);
  const Index last = first + heads * plan.head_width;
  const Tensor weight = model.weight_rows(Part::query_key_value, layer, first, last);
  const Tensor bias = model.bias(Part::query_key_value, layer);
  return {reshape(weight, {heads, plan.head_width, weight.size(1)}),
          bias.defined() ? reshape(slice(bias, 0, first, last), {heads, 1, plan.head_width})
                         : Tensor()};
}

// Applies the norm before a branch to streams [..., C], if the model has one.
Tensor normalized(const Gpt& model, Index layer, Branch branch, const Tensor& streams) {
  if (model.config().norm != NormPosition::pre) {
    return streams;
  }
  return model.block(layer).norm(branch).forward(streams);
}

// Gradient of x, given the gradient of read(x).
template <class Read>
Tensor gradient_through(const Read& read, const Tensor& x, const Tensor& gradient) {
  const Tensor leaf = to_contiguous(x.detach()).clone().set_requires_grad();
  backward(sum(read(leaf) * gradient.detach()));
  return leaf.grad();
}

}  // namespace

Tensor read_by_heads(const Gpt& model, Index layer, Index part, const Tensor& streams) {
  const PartWeights weights = part_weights(model, layer, part);
  const Tensor read = matmul(normalized(model, layer, Branch::attention, streams),
                             transpose(weights.weight, 1, 2));  // [R, N, D]
  const Tensor rows = transpose(weights.bias.defined() ? read + weights.bias : read, 0, 1);
  return within_limit(rows, model.config());
}

Tensor read_gradient(const Gpt& model, Index layer, Index part, const Tensor& streams,
                     const Tensor& gradient) {
  if (has_limit(model.config())) {
    return gradient_through([&](const Tensor& x) { return read_by_heads(model, layer, part, x); },
                            streams, gradient);
  }
  const PartWeights weights = part_weights(model, layer, part);
  const Tensor behind_norm = matmul(transpose(gradient, 0, 1), weights.weight);  // [R, N, C]
  return gradient_through(
      [&](const Tensor& x) { return normalized(model, layer, Branch::attention, x); }, streams,
      behind_norm);
}

Tensor read_by_mlp(const Gpt& model, Index layer, Point port, const Tensor& stream) {
  const Tensor read = normalized(model, layer, Branch::mlp, stream);
  if (port == Point::ln2) {
    return read;
  }
  const Block& block = model.block(layer);
  const Tensor written = block.mlp().forward(read, {.hook = model.attached()});
  const LayerNorm* norm = block.output_norm(Branch::mlp);
  return visited(model.attached(), {Point::mlp_out, layer},
                 norm == nullptr ? written : norm->forward(written));
}

Tensor read_port(const Gpt& model, Point port, Index layer, const Tensor& streams) {
  if (port != Point::q && port != Point::k && port != Point::v) {
    return read_by_mlp(model, layer, port, squeeze(streams, 0));
  }
  const Index part = port == Point::q ? 0 : port == Point::k ? 1 : 2;
  return contiguous(read_by_heads(model, layer, part, streams));
}

Tensor mlp_read_gradient(const Gpt& model, Index layer, Point port, const Tensor& stream,
                         const Tensor& gradient) {
  return gradient_through([&](const Tensor& x) { return read_by_mlp(model, layer, port, x); },
                          stream, gradient);
}

}  // namespace headlight
