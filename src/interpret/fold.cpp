#include "headlight/interpret/fold.h"

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"

namespace headlight {
namespace {

// Computes the weights of the folded model.
class Folding {
 public:
  Folding(const Gpt& model, const FoldOptions& options)
      : model_(model), config_(model.config()), options_(options) {
    require_value(
        config_.norm == NormPosition::pre && config_.causal, "fold",
        "expected a causal model with norms before its layers, got ",
        config_.causal ? concat_text("norm = ", name_of(config_.norm)) : "a bidirectional one");
    require_value(!centers() || !(config_.embedding_norm || config_.has_output_norms()),
                  "center_writing_weights",
                  "a norm writes to the residual stream of this model; use False");
    require_value(!options.center_unembed || config_.logit_cap == 0, "center_unembed",
                  "the soft cap of this model's logits depends on their mean; use False");
  }

  // Returns the configuration with the biases that take the shifts.
  GptConfig config() const {
    GptConfig config = config_;
    config.tie_weights = false;
    if (has_shifts()) {
      config.qkv_bias = true;
      config.mlp_bias = config.mlp ? std::optional(true) : config.mlp_bias;
      config.head_bias = true;
    }
    return config;
  }

  Tensor value(const Weight& weight) const {
    switch (weight.part) {
      case Part::attention_norm:
      case Part::mlp_norm:
      case Part::final_norm:
        return Tensor::full(weight.shape, weight.is_bias || config_.norm_gain_plus_one ? 0 : 1,
                            model_.dtype());
      case Part::query_key_value:
        return reading(weight, Part::attention_norm, 1);
      case Part::mlp_in:
      case Part::mlp_gate:
        return reading(weight, config_.shared_norm ? Part::attention_norm : Part::mlp_norm, 1);
      case Part::head:
        return head(weight);
      case Part::token_embedding:
      case Part::position_embedding:
      case Part::segment_embedding:
        return centers() ? centred(own(weight), -1) : own(weight);
      case Part::attention_output:
      case Part::mlp_out:
        return centers() ? centred(own(weight), 0) : own(weight);
      default:
        return own(weight);
    }
  }

 private:
  bool centers() const { return options_.center_writing && config_.norm_type == NormKind::layer; }
  bool has_shifts() const {
    return config_.norm_weights && config_.norm_options(config_.n_embd, model_.dtype()).bias;
  }
  static Tensor centred(const Tensor& x, Index axis) {
    return x - mean(x, {.axes = {axis}, .keepdim = true});
  }

  // Returns the model's own value; zeros for a bias that it does not have.
  Tensor own(const Weight& weight) const {
    if (weight.part == Part::head) {
      const Tensor value = weight.is_bias ? model_.head_bias() : model_.head_weight();
      return value.defined() ? value.detach() : Tensor::zeros(weight.shape, model_.dtype());
    }
    const Tensor value = weight.is_bias ? model_.bias(weight.part, weight.layer)
                                        : model_.weight(weight.part, weight.layer);
    return value.defined() ? value : Tensor::zeros(weight.shape, model_.dtype());
  }

  // Returns a matrix [O, C] that reads a norm times its gain, with rows of mean 0 behind a layer
  // norm; or its bias [O] plus the product of the matrix, the norm's shift and `factor`.
  Tensor reading(const Weight& weight, Part norm, double factor) const {
    const Tensor value = own(weight);
    if (!weight.is_bias) {
      const Tensor gain = config_.norm_weights ? model_.weight(norm, weight.layer) : Tensor();
      const Tensor scaled =
          gain.defined() ? value * (config_.norm_gain_plus_one ? gain + 1 : gain) : value;
      // A layer norm has mean 0, so the mean of a row acts on nothing.
      return config_.norm_type == NormKind::layer ? centred(scaled, -1) : scaled;
    }
    if (!config_.norm_weights) {
      return value;
    }
    const Tensor shift = model_.bias(norm, weight.layer);
    Weight matrix = weight;
    matrix.is_bias = false;
    return shift.defined() ? value + matmul(own(matrix), shift) * factor : value;
  }

  Tensor head(const Weight& weight) const {
    const double scale = config_.logit_scale > 0 ? config_.logit_scale : 1;
    const Tensor value = reading(weight, Part::final_norm, scale);
    return options_.center_unembed ? centred(value, 0) : value;
  }

  const Gpt& model_;
  const GptConfig& config_;
  FoldOptions options_;
};

}  // namespace

std::unique_ptr<Gpt> folded(const Gpt& model, const FoldOptions& options) {
  const NoGrad no_grad;
  const Folding folding(model, options);
  std::unique_ptr<Gpt> result = Gpt::blank(folding.config(), model.dtype());
  for (const ModelWeight& weight : result->weights()) {
    Tensor tensor = weight.tensor;
    tensor.copy_from(folding.value(weight.weight));
  }
  require_finite(result->parameters(), "fold: ");  // products of finite weights may be infinite
  return result;
}

}  // namespace headlight
