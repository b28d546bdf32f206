#include "headlight/nn/layers.h"

#include "headlight/ops/activation.h"
#include "headlight/ops/dropout.h"
#include "headlight/ops/embedding.h"
#include "headlight/ops/fused_layers.h"
#include "headlight/ops/reduce.h"
#include "nn/trained_rows.h"

namespace headlight {

Embedding::Embedding(const Options& options, const RandomStream& random)
    : padding_index_(options.padding_index) {
  require(options.count > 0 && options.width > 0, "[Embedding] expected positive sizes, got ",
          options.count, " rows of width ", options.width);
  const Shape shape{options.count, options.width};
  if (options.initialisation == Initialisation::none) {
    weight = register_parameter("weight", Tensor::without_elements(shape, options.dtype));
    return;
  }
  Tensor start = options.initialisation == Initialisation::zeros
                     ? Tensor::zeros(shape, options.dtype)
                     : random_normal(shape, random, 0, 1, options.dtype);
  if (padding_index_) {
    require(*padding_index_ >= 0 && *padding_index_ < options.count,
            "[Embedding] expected a padding index from 0 to ", options.count - 1, ", got ",
            *padding_index_);
    start.strided_view({options.width}, {1}, *padding_index_ * options.width).fill(0);
  }
  weight = register_parameter("weight", start);
}

Tensor Embedding::forward(const Tensor& ids) const {
  return stored_ != nullptr ? stored_->rows(ids) : embedding(weight, ids, padding_index_);
}

void Embedding::store(std::shared_ptr<const StoredWeight> stored) {
  require(!weight.requires_grad(),
          "[Embedding] only a frozen weight can be stored in another form");
  stored_ = std::move(stored);
  weight.release_elements();
}

void Embedding::train_rows(const std::vector<std::int32_t>& ids) {
  const auto stored = std::make_shared<const TrainedRows>(weight, ids);
  register_parameter("trained_rows", stored->parameter());
  stored_ = stored;
}

LayerNorm::LayerNorm(const NormOptions& options)
    : epsilon_(options.epsilon), kind_(options.kind), gain_plus_one_(options.gain_plus_one) {
  if (options.affine) {
    weight = register_parameter(
        "weight", Tensor::full({options.width}, gain_plus_one_ ? 0 : 1, options.dtype));
  }
  if (options.affine && options.bias && kind_ == NormKind::layer) {
    bias = register_parameter("bias", Tensor::zeros({options.width}, options.dtype));
  }
}

Tensor LayerNorm::forward(const Tensor& x) const { return normalize(x, norm()); }

Tensor LayerNorm::forward(const Tensor& x, ForwardHook* hook, const NormPoints& points) const {
  const ReduceOptions last_axis{.axes = {-1}, .keepdim = true};
  Tensor result;
  if (wants_any(hook, {points.scale, points.normalized}, points.layer)) {
    const Tensor centred = kind_ == NormKind::layer ? x - mean(x, last_axis) : x;  // [N, C]
    const Tensor scale = sqrt(mean(centred * centred, last_axis) + epsilon_);      // [N, 1]
    result = centred / visited(hook, {points.scale, points.layer}, scale);
    result = visited(hook, {points.normalized, points.layer}, result);
    if (weight.defined()) {
      result = result * (gain_plus_one_ ? weight + 1 : weight);
    }
    result = bias.defined() ? result + bias : result;
  } else {
    result = forward(x);
  }
  return visited(hook, {points.result, points.layer}, result);
}

Tensor project(const Linear& linear, const Tensor& x, const ForwardContext& context,
               const std::optional<NormParameters>& norm) {
  if (norm && context.products == nullptr && linear.is_plain()) {
    return norm_linear(x, *norm, linear.weight, linear.bias, context.precision);
  }
  return linear.forward(norm ? normalize(x, *norm) : x, context);
}

BatchNorm1d::BatchNorm1d(const NormOptions& options, double momentum)
    : epsilon_(options.epsilon), momentum_(momentum) {
  const Shape shape{options.width};
  if (options.affine) {
    weight = register_parameter("weight", Tensor::ones(shape, options.dtype));
    bias = register_parameter("bias", Tensor::zeros(shape, options.dtype));
  }
  running.mean = register_buffer("running_mean", Tensor::zeros(shape, options.dtype));
  running.variance = register_buffer("running_var", Tensor::ones(shape, options.dtype));
}

Tensor BatchNorm1d::forward(const Tensor& x, const ForwardContext& context) {
  return batch_norm(x, weight, bias, running,
                    {.training = context.training, .momentum = momentum_, .epsilon = epsilon_});
}

Dropout::Dropout(double probability, std::uint64_t label)
    : probability_(probability), label_(label) {
  require(probability >= 0 && probability < 1,
          "[Dropout] expected a probability from 0 to below 1, got ", probability);
}

Tensor Dropout::forward(const Tensor& x, const ForwardContext& context) const {
  return context.training ? dropout(x, probability_, context.random.fork(label_)) : x;
}

namespace {

// Returns the options of the matrix into the inner layer (`is_in`) or of the one that leaves it.
LinearOptions matrix_options(const MlpOptions& options, bool is_in) {
  const Index inner = options.inner_width > 0 ? options.inner_width : 4 * options.width;
  return {.inputs = is_in ? options.width : inner,
          .outputs = is_in ? inner : options.width,
          .bias = options.bias,
          .dtype = options.dtype,
          .initialisation = options.initialisation};
}

}  // namespace

Mlp::Mlp(const MlpOptions& options, const RandomStream& random)
    : c_fc_(matrix_options(options, true), random.fork(0)),
      c_proj_(matrix_options(options, false), random.fork(1)),
      activation_(options.activation),
      layer_(options.layer) {
  register_module("c_fc", c_fc_);
  if (options.gated) {
    register_module("c_gate", c_gate_.emplace(matrix_options(options, true), random.fork(2)));
  }
  register_module("c_proj", c_proj_);
}

Tensor Mlp::forward(const Tensor& x, const ForwardContext& context,
                    const std::optional<NormParameters>& norm) const {
  const bool is_watched = wants_any(context.hook, {Point::mlp_pre, Point::mlp_post}, layer_);
  const bool is_plain = c_fc_.is_plain() && c_proj_.is_plain() && (!c_gate_ || c_gate_->is_plain());
  if (norm && !is_watched && is_plain && context.products == nullptr) {
    return feed_forward(x, {.norm = *norm,
                            .up_weight = c_fc_.weight,
                            .up_bias = c_fc_.bias,
                            .down_weight = c_proj_.weight,
                            .down_bias = c_proj_.bias,
                            .gate_weight = c_gate_ ? c_gate_->weight : Tensor(),
                            .gate_bias = c_gate_ ? c_gate_->bias : Tensor(),
                            .activation = activation_,
                            .precision = context.precision});
  }
  const Tensor before = project(c_gate_ ? *c_gate_ : c_fc_, x, context, norm);
  Tensor inner = activate(visited(context.hook, {Point::mlp_pre, layer_}, before), activation_);
  if (c_gate_) {
    inner = inner * project(c_fc_, x, context, norm);
  }
  return c_proj_.forward(visited(context.hook, {Point::mlp_post, layer_}, inner), context);
}

}  // namespace headlight
