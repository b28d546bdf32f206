#include "headlight/interpret/features/sparse_autoencoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/transformed.h"
#include "headlight/base/error.h"
#include "headlight/nn/batch.h"
#include "headlight/ops/activation.h"
#include "headlight/ops/compare.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/indexing.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "headlight/tensor/named_tensors.h"
#include "interpret/point_values.h"

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
  const std::vector<double> indices = topk(x.detach(), k, 1).indices.to_vector();
  Tensor is_kept = Tensor::zeros(x.shape(), DType::boolean);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Index row = static_cast<Index>(i) / k;
    is_kept.data<bool>()[row * x.size(1) + static_cast<Index>(indices[i])] = true;
  }
  return where(is_kept, x, Tensor::zeros({1}));
}

// Returns the lengths of decoder rows [F].
Tensor norms_of_rows(const Tensor& decoder) { return sqrt(sum(decoder * decoder, {.axes = {1}})); }

bool is_jumprelu(SaeArchitecture architecture) {
  return architecture == SaeArchitecture::jumprelu ||
         architecture == SaeArchitecture::jumprelu_transcoder ||
         architecture == SaeArchitecture::jumprelu_skip_transcoder;
}
bool has_skip(SaeArchitecture architecture) {
  return architecture == SaeArchitecture::skip_transcoder ||
         architecture == SaeArchitecture::jumprelu_skip_transcoder;
}

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
  require_value(weights_.decoder.defined() && weights_.decoder.rank() == 2, "W_dec",
                "expected a matrix [F, ", is_transcoder() ? "D]" : "C]");
  const Index written = is_transcoder() ? weights_.decoder.size(1) : width();
  require_shape("W_dec", weights_.decoder, {features(), written});
  require_shape("b_dec", weights_.decoder_bias, {written});
  if (is_jumprelu(config_.architecture)) {
    require_shape("threshold", weights_.threshold, {features()});
  }
  if (config_.architecture == SaeArchitecture::gated) {
    require_shape("r_mag", weights_.magnitude, {features()});
    require_shape("b_mag", weights_.magnitude_bias, {features()});
  }
  if (has_skip(config_.architecture)) {
    require_shape("W_skip", weights_.skip, {written, width()});
  } else {
    weights_.skip = {};
  }
  require_value(
      config_.architecture != SaeArchitecture::topk || (config_.k >= 1 && config_.k <= features()),
      "k", "expected 1 to ", features(), ", got ", config_.k);
  for (const auto& [name, tensor] :
       std::initializer_list<std::pair<const char*, Tensor*>>{{"W_enc", &weights_.encoder},
                                                              {"b_enc", &weights_.encoder_bias},
                                                              {"W_dec", &weights_.decoder},
                                                              {"b_dec", &weights_.decoder_bias},
                                                              {"threshold", &weights_.threshold},
                                                              {"r_mag", &weights_.magnitude},
                                                              {"b_mag", &weights_.magnitude_bias},
                                                              {"W_skip", &weights_.skip}}) {
    if (tensor->defined()) {
      *tensor = convert(tensor->detach(), DType::float32);
      require_finite({{name, *tensor}}, "");
    }
  }
  if (config_.rescale_by_decoder_norm) {
    decoder_norms_ = norms_of_rows(weights_.decoder);
    require_finite({{"lengths of the rows of W_dec", decoder_norms_}}, "");
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
  for (Tensor* tensor : {&weights.threshold, &weights.magnitude_bias}) {
    *tensor = tensor->defined() ? *tensor * norms : *tensor;
  }
  SaeConfig config = config_;
  config.rescale_by_decoder_norm = false;
  return {std::move(config), std::move(weights)};
}

// Factor of each row's norm, [N, 1]: values = normalized * scale (+ mean). Without a norm, 1.
Tensor SparseAutoencoder::scales(const Tensor& values) const {
  const bool has_norm =
      config_.norm == SaeNorm::constant_norm_rescale || config_.norm == SaeNorm::layer_norm;
  if (!has_norm || is_transcoder()) {
    return Tensor::ones({1});
  }
  require_value(values.defined(), "like", "expected the encoded values: the autoencoder's ",
                name_of(config_.norm), " depends on them");
  require_rows("like", values, width());
  return scale_of(cast(values, DType::float32));
}

// Factor of the norm of float32 rows [N, 1].
Tensor SparseAutoencoder::scale_of(const Tensor& values) const {
  return config_.norm == SaeNorm::constant_norm_rescale
             ? sqrt(mean(values * values, {.axes = {1}, .keepdim = true}))
             : stddev(values, {.axes = {1}, .keepdim = true});
}

Tensor SparseAutoencoder::normalized(const Tensor& values) const {
  constexpr double kEpsilon = 1e-5;  // SAELens's
  switch (config_.norm) {
    case SaeNorm::constant_norm_rescale:
      return values / scale_of(values);
    case SaeNorm::layer_norm:
      return (values - mean(values, {.axes = {1}, .keepdim = true})) /
             (scale_of(values) + kEpsilon);
    default:
      return values;
  }
}

// Returns the active features: `before` are the encoded values of the normalized input.
Tensor SparseAutoencoder::active(const Tensor& before, const Tensor& input) const {
  const Tensor none = Tensor::zeros({1});
  if (is_jumprelu(config_.architecture)) {
    return where(greater(before.detach(), weights_.threshold), relu(before), none);
  }
  if (config_.architecture == SaeArchitecture::gated) {
    const Tensor size =
        matmul(input, weights_.encoder * exp(weights_.magnitude)) + weights_.magnitude_bias;
    return where(greater(before.detach(), none), relu(size), none);
  }
  return relu(config_.architecture == SaeArchitecture::topk ? only_largest(before, config_.k)
                                                            : before);
}

Tensor SparseAutoencoder::encode(const Tensor& values) const {
  require_rows("values", values, width());
  const bool is_shifted = config_.apply_b_dec_to_input && !is_transcoder();
  const Tensor scaled = normalized(cast(values, DType::float32));
  const Tensor input = is_shifted ? scaled - weights_.decoder_bias : scaled;
  const Tensor before = matmul(input, weights_.encoder) + weights_.encoder_bias;
  return active(decoder_norms_.defined() ? before * decoder_norms_ : before, input);
}

Tensor SparseAutoencoder::decode(const Tensor& features, const Tensor& like) const {
  const Tensor plain = written(features, like) + weights_.decoder_bias * scales(like);
  return config_.norm == SaeNorm::layer_norm && !is_transcoder()
             ? plain + mean(cast(like, DType::float32), {.axes = {1}, .keepdim = true})
             : plain;
}

Tensor SparseAutoencoder::reconstruct(const Tensor& values) const {
  const Tensor decoded = decode(encode(values), values);
  return weights_.skip.defined() ? decoded + linear(cast(values, DType::float32), weights_.skip)
                                 : decoded;
}

Tensor SparseAutoencoder::written(const Tensor& change, const Tensor& values) const {
  require_rows("features", change, features());
  const Tensor given = cast(change, DType::float32);
  return matmul(decoder_norms_.defined() ? given / divisors(decoder_norms_) : given,
                weights_.decoder) *
         scales(values);
}

void SparseAutoencoder::require_edit(const FeatureEdit& edit) const {
  require_value(edit.feature >= 0 && edit.feature < features(), "feature", "expected 0 to ",
                features() - 1, ", got ", edit.feature);
  require_value(std::isfinite(static_cast<float>(edit.value)), "value",
                "expected a finite float32, got ", edit.value);
}

Tensor SparseAutoencoder::edited(const Tensor& values, std::span<const FeatureEdit> edits) const {
  require_value(!is_transcoder(), "hook_name",
                "features of a transcoder write another point; change them at the point feature");
  const Tensor features = encode(values);
  // changed = features * factors + offsets
  Tensor factors = Tensor::ones({this->features()});
  Tensor offsets = Tensor::zeros({this->features()});
  for (const FeatureEdit& edit : edits) {
    require_edit(edit);
    float& factor = factors.data<float>()[edit.feature];
    float& offset = offsets.data<float>()[edit.feature];
    const auto value = static_cast<float>(edit.value);
    switch (edit.kind) {
      case FeatureEdit::Kind::set:
        factor = 0;
        offset = value;
        break;
      case FeatureEdit::Kind::scale:
        factor *= value;
        offset *= value;
        break;
      case FeatureEdit::Kind::add:
        offset += value;
        break;
    }
  }
  const Tensor moved = written(features * (factors - 1.0) + offsets, values);
  return cast(cast(values, DType::float32) + moved, values.dtype());
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

Tensor FeatureHook::visit(const HookSite& /*site*/, const Tensor& value) {
  if (edits_.empty()) {
    return value;
  }
  return reshape(sae_.edited(reshape(value, {value.size(0), -1}), edits_), value.shape());
}

namespace {

// The features of an autoencoder or a transcoder in a pass.
class SaeFeatures final : public FeatureMap {
 public:
  explicit SaeFeatures(std::shared_ptr<const SparseAutoencoder> sae) : sae_(std::move(sae)) {
    const SaeConfig& config = sae_->config();
    input_ = point_of("hook_name", config.hook_name);
    output_ = sae_->is_transcoder() ? point_of("hook_name_out", config.hook_name_out) : input_;
    require_value(
        std::pair(output_.second, output_.first) >= std::pair(input_.second, input_.first),
        "hook_name_out", "expected a point after ", config.hook_name, ", got ",
        config.hook_name_out);
  }

  // Throws Error unless the values of one token have the points, with as many numbers.
  void require_points(const PointValues& values) const {
    const auto check = [&](const char* about, const PointInLayer& spot, Index width) {
      const auto found = values.find(spot);
      const std::string name = point_name(spot.first, spot.second);
      require_value(found != values.end(), about, "this model does not compute ", name);
      require_value(found->second.numel() == width, about, "expected ", width, " numbers at ", name,
                    ", as the autoencoder has, got ", found->second.numel());
    };
    check("hook_name", input_, sae_->width());
    check("hook_name_out", output_, sae_->weights().decoder.size(1));
  }

  PointInLayer input() const override { return input_; }
  PointInLayer output() const override { return output_; }
  Tensor features(const Tensor& values) const override {
    return cast(sae_->encode(reshape(values, {values.size(0), -1})), values.dtype());
  }
  Tensor written(const Tensor& change, const Tensor& values) const override {
    const Tensor rows = sae_->written(change, reshape(values, {values.size(0), -1}));
    const Tensor own = cast(rows, values.dtype());
    return sae_->is_transcoder() ? own : reshape(own, values.shape());
  }

 private:
  static PointInLayer point_of(const char* about, const std::string& name) {
    const PointRange range = parse_point(about, name);
    require_value(is_in_layer(range.point) && range.layers.last == range.layers.first &&
                      items_of(range.point) != PointItems::maps && !range.items &&
                      range.point != Point::feature,
                  about, "expected a point of one layer, got '", name, "'");
    return {range.point, range.layers.first};
  }

  std::shared_ptr<const SparseAutoencoder> sae_;
  PointInLayer input_;
  PointInLayer output_;
};

}  // namespace

FeatureMaps feature_maps(const std::vector<std::shared_ptr<const SparseAutoencoder>>& autoencoders,
                         const LanguageModel& model) {
  const auto all = transformed(
      autoencoders, [](const auto& sae) { return std::make_shared<const SaeFeatures>(sae); });
  const PointValues values = values_of(
      model, make_batch({{0}}),
      [&](Point point, Index layer) {
        const PointInLayer spot{point, layer};
        return std::ranges::any_of(
            all, [&](const auto& map) { return map->input() == spot || map->output() == spot; });
      },
      true);
  FeatureMaps maps;
  for (const auto& map : all) {
    map->require_points(values);
    const Index layer = map->input().second;
    require_value(maps.emplace(layer, map).second, "hook_name",
                  "expected one autoencoder in layer ", layer, ", got two");
  }
  return maps;
}

}  // namespace headlight
