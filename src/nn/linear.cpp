#include "headlight/nn/linear.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "headlight/ops/matmul.h"
#include "nn/trained_rows.h"

namespace headlight {
namespace {

// Returns uniform values in +-1 / sqrt(inputs), as torch.nn.Linear for weight and bias.
Tensor linear_start(const Shape& shape, const LinearOptions& options, const RandomStream& random) {
  if (options.initialisation != Initialisation::random) {
    return Tensor::zeros(shape, options.dtype);
  }
  const double bound = 1.0 / std::sqrt(static_cast<double>(std::max<Index>(options.inputs, 1)));
  return random_uniform(shape, random, -bound, bound, options.dtype);
}

}  // namespace

Linear::Linear(const LinearOptions& options, const RandomStream& random) {
  require(options.inputs > 0 && options.outputs > 0, "[Linear] expected positive sizes, got ",
          options.inputs, " inputs and ", options.outputs, " outputs");
  const Shape shape{options.outputs, options.inputs};
  weight = register_parameter("weight", options.initialisation == Initialisation::none
                                            ? Tensor::without_elements(shape, options.dtype)
                                            : linear_start(shape, options, random.fork(0)));
  if (options.bias) {
    bias = register_parameter("bias", linear_start({options.outputs}, options, random.fork(1)));
  }
}

Tensor Linear::forward(const Tensor& x, const ForwardContext& context) const {
  if (context.products != nullptr) {
    return context.products->multiply(*this, x);
  }
  const Tensor product = stored_ != nullptr ? stored_->product(x, context.precision)
                                            : linear(x, weight, bias, context.precision);
  if (updates_.empty()) {
    return product;
  }
  const Tensor updated = low_rank_linear(product, x, updates_,
                                         {.probability = context.training ? update_dropout_ : 0,
                                          .random = context.random.fork(update_label_)});
  return updates_.front().lengths.defined()
             ? with_row_lengths(updated, plain_weight(), bias, updates_)
             : updated;
}

Tensor Linear::plain_weight() const { return stored_ != nullptr ? stored_->weight() : weight; }

Tensor Linear::full_weight() const { return updated_weight(plain_weight(), updates_); }

void Linear::store(std::shared_ptr<const StoredWeight> stored) {
  require(!weight.requires_grad() && !(bias.defined() && bias.requires_grad()),
          "[Linear] only a frozen weight can be stored in another form");
  stored_ = std::move(stored);
  weight.release_elements();
}

void Linear::train_rows(const std::vector<std::int32_t>& ids) {
  const auto stored = std::make_shared<const TrainedRows>(weight, ids);
  register_parameter("trained_rows", stored->parameter());
  stored_ = stored;
}

void Linear::add_update(const std::string& name, LowRankUpdate update, double dropout,
                        std::uint64_t label) {
  update.a = register_parameter("lora_A." + name, update.a);
  update.b = register_parameter("lora_B." + name, update.b);
  if (update.lengths.defined()) {
    update.lengths = register_parameter("lora_magnitude." + name, update.lengths);
  }
  updates_.push_back(std::move(update));
  update_dropout_ = dropout;
  update_label_ = label;
}

}  // namespace headlight
