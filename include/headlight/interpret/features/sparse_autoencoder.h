#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/point.h"

// Sparse autoencoders (SAEs) in SAELens's form (https://github.com/jbloomAus/SAELens).
namespace headlight {

class LanguageModel;

// Transcoders map the values of one point to those of another.
enum class SaeArchitecture {
  standard,
  jumprelu,
  topk,
  gated,
  transcoder,
  skip_transcoder,  // plus a linear map of the input
  jumprelu_transcoder,
  jumprelu_skip_transcoder,
};
template <>
inline constexpr auto kChoices<SaeArchitecture> = std::to_array<Choice<SaeArchitecture>>(
    {{"standard", SaeArchitecture::standard},
     {"jumprelu", SaeArchitecture::jumprelu},
     {"topk", SaeArchitecture::topk},
     {"gated", SaeArchitecture::gated},
     {"transcoder", SaeArchitecture::transcoder},
     {"skip_transcoder", SaeArchitecture::skip_transcoder},
     {"jumprelu_transcoder", SaeArchitecture::jumprelu_transcoder},
     {"jumprelu_skip_transcoder", SaeArchitecture::jumprelu_skip_transcoder}});

// Scaling of the input, which decode() undoes.
enum class SaeNorm {
  none,
  expected_average_only_in,  // none: the factor is in the weights, as in SAELens at inference
  constant_norm_rescale,     // to the length sqrt(C)
  layer_norm,                // to mean 0 and standard deviation 1 (divisor C - 1)
};
template <>
inline constexpr auto kChoices<SaeNorm> =
    std::to_array<Choice<SaeNorm>>({{"none", SaeNorm::none},
                                    {"expected_average_only_in", SaeNorm::expected_average_only_in},
                                    {"constant_norm_rescale", SaeNorm::constant_norm_rescale},
                                    {"layer_norm", SaeNorm::layer_norm}});

struct SaeConfig {
  SaeArchitecture architecture = SaeArchitecture::standard;
  std::string hook_name = {};      // TransformerLens name of the point; "": unknown
  std::string hook_name_out = {};  // of transcoders: the point of the decoded values; "": unknown
  bool apply_b_dec_to_input = true;
  SaeNorm norm = SaeNorm::none;
  Index k = 0;  // topk: features that may be active
  // topk: features are multiplied by the norms of their decoder rows, before they are chosen.
  bool rescale_by_decoder_norm = false;
};

// Change of a feature.
struct FeatureEdit {
  enum class Kind {
    set,    // to `value`; 0 ablates the feature
    scale,  // times `value`
    add,    // plus `value`: steering along the feature's decoder row
  };
  Index feature = 0;
  Kind kind = Kind::set;
  double value = 0;
};

// C: width of the point; F: number of features; D: width of the decoded values, C except for
// transcoders. Encoding and decoding record gradients of the values.
class SparseAutoencoder {
 public:
  struct Weights {
    Tensor encoder;              // W_enc [C, F]
    Tensor encoder_bias;         // b_enc [F]; b_gate of gated
    Tensor decoder;              // W_dec [F, D]
    Tensor decoder_bias;         // b_dec [D]
    Tensor threshold = {};       // [F], jumprelu only
    Tensor magnitude = {};       // r_mag [F], gated only: logarithms of factors of W_enc
    Tensor magnitude_bias = {};  // b_mag [F], gated only
    Tensor skip = {};            // W_skip [D, C], skip transcoders only
  };

  // Throws Error about the name of a weight with another shape, and about "k".
  SparseAutoencoder(SaeConfig config, Weights weights);

  const SaeConfig& config() const { return config_; }
  Index width() const { return weights_.encoder.size(0); }
  Index features() const { return weights_.encoder.size(1); }
  bool is_transcoder() const { return config_.architecture >= SaeArchitecture::transcoder; }
  const Weights& weights() const { return weights_; }

  // Returns an autoencoder whose decoder rows have length 1: their norms move into the encoder and
  // the thresholds, and features are multiplied by them. Decoded values stay the same. Throws Error
  // about "fold_W_dec_norm" for topk without rescale_by_decoder_norm, which would choose other
  // features.
  SparseAutoencoder folded() const;

  // Returns features [N, F] of values [N, C]. Throws Error about "values" for another width.
  Tensor encode(const Tensor& values) const;
  // Returns values [N, D] of features [N, F], of transcoders without `skip`. `like`: the encoded
  // values, for norms that depend on them; undefined otherwise. Throws Error about "features" and
  // "like".
  Tensor decode(const Tensor& features, const Tensor& like = {}) const;
  // Returns the decoded features of values [N, C], with `skip`: [N, D].
  Tensor reconstruct(const Tensor& values) const;
  // Returns what a change [N, F] of the features of values [N, C] adds to the decoded values.
  Tensor written(const Tensor& change, const Tensor& values) const;
  // Throws Error about "feature" for a number that does not exist, and about "value" unless it is
  // finite.
  void require_edit(const FeatureEdit& edit) const;
  // Returns the values [N, C] after changes of features, in their order. The error of the
  // reconstruction stays. Throws Error as require_edit() does, and about "hook_name" for a
  // transcoder.
  Tensor edited(const Tensor& values, std::span<const FeatureEdit> edits) const;

 private:
  Tensor scales(const Tensor& values) const;
  Tensor scale_of(const Tensor& values) const;
  Tensor normalized(const Tensor& values) const;
  Tensor active(const Tensor& before, const Tensor& input) const;

  SaeConfig config_;
  Weights weights_;
  Tensor decoder_norms_;  // [F], if features are multiplied by them
};

// Returns the maps of autoencoders and transcoders for Gpt::attach_features(). Throws Error about
// "hook_name" and "hook_name_out" for points that the model does not compute or that have another
// width, a transcoder that writes before it reads, and two in one layer. Runs a pass of one token.
FeatureMaps feature_maps(const std::vector<std::shared_ptr<const SparseAutoencoder>>& autoencoders,
                         const LanguageModel& model);

// Reads a folder with cfg.json and sae_weights.safetensors. Throws Error, one line with the path,
// for missing files, other architectures and weights that do not fit.
SparseAutoencoder load_sae(const std::filesystem::path& directory);

// Hook that changes features at the autoencoder's point. Heads (hook_z) are laid side by side.
class FeatureHook final : public ForwardHook {
 public:
  // `sae` must outlive it. Throws Error about "hook_name" and "feature".
  FeatureHook(const SparseAutoencoder& sae, std::vector<FeatureEdit> edits);

  bool wants(Point point, Index layer) const override;
  bool in_family_units() const override { return true; }
  Tensor visit(const HookSite& site, const Tensor& value) override;

 private:
  const SparseAutoencoder& sae_;
  std::vector<FeatureEdit> edits_;
  PointRange point_;
};

}  // namespace headlight
