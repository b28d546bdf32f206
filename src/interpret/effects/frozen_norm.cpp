#include "interpret/effects/frozen_norm.h"

#include "headlight/ops/elementwise.h"
#include "headlight/ops/reduce.h"

namespace headlight {
namespace {

DType precise(DType dtype) { return dtype == DType::float64 ? dtype : DType::float32; }

}  // namespace

FrozenNorm::FrozenNorm(const Gpt& model, Part part, Index layer, const Tensor& whole)
    : is_centred_(model.config().norm_type == NormKind::layer) {
  const GptConfig& config = model.config();
  const DType dtype = whole.defined() ? precise(whole.dtype()) : DType::float64;
  const Tensor weight = model.weight(part, layer);
  const Tensor gain =
      weight.defined() ? convert(weight, dtype) : Tensor::ones({config.n_embd}, dtype);
  factor_ = config.norm_gain_plus_one ? gain + 1.0 : gain;
  if (whole.defined()) {
    const Tensor rows = centred(convert(whole, dtype));
    factor_ = factor_ /
              sqrt(mean(rows * rows, {.axes = {1}, .keepdim = true}) + config.layer_norm_epsilon);
  }
  if (const Tensor shift = model.bias(part, layer); shift.defined()) {
    shift_ = convert(shift, dtype);
  }
}

Tensor FrozenNorm::of(const Tensor& parts) const {
  return convert(centred(convert(parts, factor_.dtype())) * factor_, parts.dtype());
}

Tensor FrozenNorm::pulled_back(const Tensor& directions) const {
  return centred(directions * factor_);
}

Tensor FrozenNorm::centred(const Tensor& rows) const {
  return is_centred_ ? rows - mean(rows, {.axes = {1}, .keepdim = true}) : rows;
}

}  // namespace headlight
