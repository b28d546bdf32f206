#include "interpret/value_weights.h"

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/nn/causal_self_attention.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"

namespace headlight {
namespace {

// Returns the norms of the vectors v W_O [T] of the head at `index`, divided by the largest.
// `output` is the output matrix of its layer, [C, H D].
std::vector<double> relative_norms(const AttentionPlan& plan, const Tensor& values, Index index,
                                   const Tensor& output) {
  const Tensor own = convert(select(values, 1, plan.key_head(index)), DType::float32);
  const Tensor matrix = convert(
      slice(output, 1, index * plan.head_width, (index + 1) * plan.head_width), DType::float32);
  const Tensor written = linear(plan.clip > 0 ? clamp(own, -plan.clip, plan.clip) : own, matrix);
  std::vector<double> norms = sqrt(sum(written * written, {.axes = {1}})).to_vector();
  const double largest = std::ranges::max(norms);
  for (double& norm : norms) {
    norm = largest > 0 ? norm / largest : 0;
  }
  return norms;
}

// Multiplies the weights [H, t, t] of all heads at `indices` in one sequence by the norms of the
// values [t, G, D].
Tensor carried_weights(const CausalSelfAttention& attention, const std::vector<Index>& indices,
                       const Tensor& weights, const Tensor& values) {
  Tensor result = convert(to_contiguous(weights), DType::float32).clone();
  const Index length = weights.size(1);
  const Tensor output = attention.output_matrix();
  for (const Index index : indices) {
    const std::vector<double> norms = relative_norms(attention.plan(), values, index, output);
    float* row = result.data<float>() + index * length * length;
    for (Index query = 0; query < length; ++query, row += length) {
      for (Index token = 0; token < length; ++token) {
        row[token] *= static_cast<float>(norms[static_cast<std::size_t>(token)]);
      }
    }
  }
  return result;
}

}  // namespace

void weight_by_values(const LanguageModel& model, const PointValues& values, Index layer,
                      const std::vector<Index>& indices, std::vector<Tensor>& sequences) {
  const CausalSelfAttention* attention = model.attention(layer);
  const auto found = values.find({Point::v, layer});
  require_value(attention != nullptr && found != values.end(), "value_weighted",
                "a model of type '", model.model_type(), "' has no values of heads");
  const NoGrad no_grad;
  Index token = 0;  // index in the batch
  for (Tensor& weights : sequences) {
    const Index length = weights.size(1);
    weights = carried_weights(*attention, indices, weights,
                              slice(found->second, 0, token, token + length));
    token += length;
  }
}

}  // namespace headlight
