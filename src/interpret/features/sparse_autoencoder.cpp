#include "headlight/interpret/features/sparse_autoencoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/compare.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/indexing.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "headlight/tensor/named_tensors.h"

namespace headlight {
namespace {

void require_shape(const char* name, const Tensor& tensor, const Shape& shape) {
  require_value(tensor.defined(), name, "is missing");
  require_value(tensor.shape() == shape, name, "expected shape ", shape, ", got ", tensor.shape());
}

void require_rows(const char* name, const Tensor& rows, Index width) {
  require_value(rows.rank() == 2 && rows.size(1) == width, name, "expected rows of ", width,
                " numbers, got shape ", rows.shape());
}

// The k largest elements of each row; others become 0.
Tensor only_largest(const Tensor& x, Index k) {
  const TopK best = topk(x, k, 1);
  const std::vector<double> indices = best.indices.to_vector();
  const std::vector<double> values = best.values.to_vector();
  Tensor result = Tensor::zeros(x.shape());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Index row = static_cast<Index>(i) / k;
    result.data<float>()[row * x.size(1) + static_cast<Index>(indices[i])] =
        static_cast<float>(values[i]);
  }
  return result;
}

// Returns the lengths of decoder rows [F].
Tensor norms_of_rows(const Tensor& decoder) { return sqrt(sum(decoder * decoder, {.axes = {1}})); }

// Returns lengths by which features can be divided, as SAELens does.
Tensor divisors(const Tensor& norms) {
  constexpr double kShortestNorm = 1e-8;
  return clamp(norms, kShortestNorm, std::numeric_limits<double>::infinity());
}

}  // namespace

SparseAutoencoder::SparseAutoencoder(SaeConfig config, Weights weights)
    : config_(std::move(config)), weights_(std::move(weights)) {
  require_value(weights_.encoder.defined() && weights_.encoder.rank() == 2, "W_enc",
                "expected a matrix [C, F]");
  require_shape("b_enc", weights_.encoder_bias, {features()});
  require_shape("W_dec", weights_.decoder, {features(), width()});
  require_shape("b_dec", weights_.decoder_bias, {width()});
  if (config_.architecture == SaeArchitecture::jumprelu) {
    require_shape("threshold", weights_.threshold, {features()});
  }
  require_value(
      config_.architecture != SaeArchitecture::topk || (config_.k >= 1 && config_.k <= features()),
      "k", "expected 1 to ", features(), ", got ", config_.k);
  for (Tensor* tensor : {&weights_.encoder, &weights_.encoder_bias, &weights_.decoder,
                         &weights_.decoder_bias, &weights_.threshold}) {
    *tensor = tensor->defined() ? convert(tensor->detach(), DType::float32) : *tensor;
  }
  if (config_.rescale_by_decoder_norm) {
    decoder_norms_ = norms_of_rows(weights_.decoder);
    require_finite({{"lengths of the rows of W_dec", decoder_norms_}}, "");
  }
  require_finite({{"W_enc", weights_.encoder},
                  {"b_enc", weights_.encoder_bias},
                  {"W_dec", weights_.decoder},
                  {"b_dec", weights_.decoder_bias}},
                 "");
  if (weights_.threshold.defined()) {
    require_finite({{"threshold", weights_.threshold}}, "");
  }
}

SparseAutoencoder SparseAutoencoder::folded() const {
  require_value(config_.architecture != SaeArchitecture::topk || config_.rescale_by_decoder_norm,
                "fold_W_dec_norm", "would change which features topk chooses");
  const Tensor norms = divisors(norms_of_rows(weights_.decoder));
  Weights weights = weights_;
  weights.encoder = weights.encoder * norms;
  weights.encoder_bias = weights.encoder_bias * norms;
  weights.decoder = weights.decoder / reshape(norms, {features(), 1});
  if (weights.threshold.defined()) {
    weights.threshold = weights.threshold * norms;
  }
  SaeConfig config = config_;
  config.rescale_by_decoder_norm = false;
  return {std::move(config), std::move(weights)};
}

// Factor of each row's norm, [N, 1]: values = normalized * scale (+ mean).
Tensor SparseAutoencoder::scales(const Tensor& values) const {
  if (config_.norm == SaeNorm::constant_norm_rescale) {
    return sqrt(mean(values * values, {.axes = {1}, .keepdim = true}));
  }
  return stddev(values, {.axes = {1}, .keepdim = true});
}

Tensor SparseAutoencoder::normalized(const Tensor& values) const {
  constexpr double kEpsilon = 1e-5;  // SAELens's
  switch (config_.norm) {
    case SaeNorm::constant_norm_rescale:
      return values / scales(values);
    case SaeNorm::layer_norm:
      return (values - mean(values, {.axes = {1}, .keepdim = true})) / (scales(values) + kEpsilon);
    default:
      return values;
  }
}

Tensor SparseAutoencoder::active(Tensor before) const {
  switch (config_.architecture) {
    case SaeArchitecture::jumprelu:
      return where(greater(before, weights_.threshold),
                   clamp(before, 0, std::numeric_limits<double>::infinity()), Tensor::zeros({1}));
    case SaeArchitecture::topk:
      before = only_largest(before, config_.k);
      break;
    case SaeArchitecture::standard:
      break;
  }
  return clamp(before, 0, std::numeric_limits<double>::infinity());
}

Tensor SparseAutoencoder::encode(const Tensor& values) const {
  const NoGrad no_grad;
  require_rows("values", values, width());
  const Tensor input = normalized(convert(values.detach(), DType::float32));
  const Tensor before = matmul(config_.apply_b_dec_to_input ? input - weights_.decoder_bias : input,
                               weights_.encoder) +
                        weights_.encoder_bias;
  return active(decoder_norms_.defined() ? before * decoder_norms_ : before);
}

Tensor SparseAutoencoder::decode(const Tensor& features, const Tensor& like) const {
  const NoGrad no_grad;
  require_rows("features", features, this->features());
  const Tensor given = convert(features.detach(), DType::float32);
  const Tensor plain = matmul(decoder_norms_.defined() ? given / divisors(decoder_norms_) : given,
                              weights_.decoder) +
                       weights_.decoder_bias;
  if (config_.norm != SaeNorm::constant_norm_rescale && config_.norm != SaeNorm::layer_norm) {
    return plain;
  }
  require_value(like.defined(), "like", "expected the encoded values: the autoencoder's ",
                name_of(config_.norm), " depends on them");
  require_rows("like", like, width());
  const Tensor values = convert(like.detach(), DType::float32);
  const Tensor scaled = plain * scales(values);
  return config_.norm == SaeNorm::layer_norm ? scaled + mean(values, {.axes = {1}, .keepdim = true})
                                             : scaled;
}

void SparseAutoencoder::require_edit(const FeatureEdit& edit) const {
  require_value(edit.feature >= 0 && edit.feature < features(), "feature", "expected 0 to ",
                features() - 1, ", got ", edit.feature);
  require_value(std::isfinite(static_cast<float>(edit.value)), "value",
                "expected a finite float32, got ", edit.value);
}

Tensor SparseAutoencoder::edited(const Tensor& values, std::span<const FeatureEdit> edits) const {
  const NoGrad no_grad;
  const Tensor features = encode(values);
  const Tensor changed = features.clone();
  for (const FeatureEdit& edit : edits) {
    require_edit(edit);
    Tensor now = slice(changed, 1, edit.feature, edit.feature + 1);
    switch (edit.kind) {
      case FeatureEdit::Kind::set:
        now.fill(edit.value);
        break;
      case FeatureEdit::Kind::scale:
        now.copy_from(now * edit.value);
        break;
      case FeatureEdit::Kind::add:
        now.copy_from(now + edit.value);
        break;
    }
  }
  const Tensor changes = changed - features;
  // Only the changed rows of the decoder act, times the norm's scale.
  const Tensor like = convert(values.detach(), DType::float32);
  const Tensor moved = decode(changes, like) - decode(Tensor::zeros(changes.shape()), like);
  return convert(like + moved, values.dtype());
}

FeatureHook::FeatureHook(const SparseAutoencoder& sae, std::vector<FeatureEdit> edits)
    : sae_(sae),
      edits_(std::move(edits)),
      point_(parse_point("hook_name", sae.config().hook_name)) {
  for (const FeatureEdit& edit : edits_) {
    sae.require_edit(edit);
  }
}

bool FeatureHook::wants(Point point, Index layer) const {
  return point == point_.point && (!is_in_layer(point) || point_.layers.contains(layer));
}

Tensor FeatureHook::visit(const HookSite& site, const Tensor& value) {
  if (edits_.empty()) {
    return value;
  }
  require_no_gradient(site, value);
  const Tensor rows = reshape(value.detach(), {value.size(0), -1});
  return reshape(sae_.edited(rows, edits_), value.shape());
}

}  // namespace headlight
