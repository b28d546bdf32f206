#pragma once

#include <optional>

#include "headlight/kernels/activation.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/linear.h"
#include "headlight/nn/norm_options.h"
#include "headlight/ops/elementwise.h"

// Basic layers; linear.h holds Linear. Weights start as in PyTorch's modules of the same name.
namespace headlight {

// Maps ids [...] int32 to [..., width]. Parameter: weight [count, width]; the row of padding_index
// starts as zeros and gets no gradient.
class Embedding : public Module {
 public:
  struct Options {
    Index count = 0;
    Index width = 0;
    std::optional<Index> padding_index = std::nullopt;
    DType dtype = DType::float32;
    Initialisation initialisation = Initialisation::random;
  };

  explicit Embedding(const Options& options, const RandomStream& random = {});
  Tensor forward(const Tensor& ids) const;

  // Replaces the weight by another form, as Linear::store() does.
  void store(std::shared_ptr<const StoredWeight> stored);
  // Trains rows of the weight, as Linear::train_rows() does.
  void train_rows(const std::vector<std::int32_t>& ids);
  const StoredWeight* stored() const { return stored_.get(); }  // null if not in another form
  // Returns the weight in either form.
  Tensor full_weight() const { return stored_ != nullptr ? stored_->weight() : weight; }

  Tensor weight;

 private:
  std::optional<Index> padding_index_;
  std::shared_ptr<const StoredWeight> stored_;
};

// Points of a norm that a hook can visit.
struct NormPoints {
  Point scale = Point::ln1_scale;
  Point normalized = Point::ln1_normalized;
  Point result = Point::ln1;
  Index layer = 0;
};

// A norm over the last axis: layer norm or RMS norm. Parameters, when affine: weight [width] (the
// gain), bias [width].
class LayerNorm : public Module {
 public:
  explicit LayerNorm(const NormOptions& options);
  Tensor forward(const Tensor& x) const;
  // Shows the divisor of x, the quotient and the result to a hook, which may change them.
  Tensor forward(const Tensor& x, ForwardHook* hook, const NormPoints& points) const;
  // Returns the parameters for ops that normalise their input.
  NormParameters norm() const { return {weight, bias, epsilon_, kind_, gain_plus_one_}; }

  Tensor weight;  // undefined when not affine, like bias
  Tensor bias;    // undefined if there is no bias

 private:
  double epsilon_;
  NormKind kind_;
  bool gain_plus_one_;
};

// Returns linear.forward(normalize(x, norm)), computed by one op if possible; without a norm
// linear.forward(x).
Tensor project(const Linear& linear, const Tensor& x, const ForwardContext& context,
               const std::optional<NormParameters>& norm);

// Normalises x [N, width] or [N, width, L]. Parameters, when affine: weight, bias [width]; buffers:
// running_mean, running_var [width].
class BatchNorm1d : public Module {
 public:
  explicit BatchNorm1d(const NormOptions& options, double momentum = 0.1);
  Tensor forward(const Tensor& x, const ForwardContext& context);

  Tensor weight;  // undefined when not affine, like bias
  Tensor bias;
  RunningStatistics running;

 private:
  double epsilon_;
  double momentum_;
};

// Drops elements during training. Each module of a model needs its own `label`, so that each draws
// its own random numbers.
class Dropout : public Module {
 public:
  explicit Dropout(double probability, std::uint64_t label = 0);
  Tensor forward(const Tensor& x, const ForwardContext& context) const;

 private:
  double probability_;
  std::uint64_t label_;
};

struct MlpOptions {
  Index width = 0;
  Index inner_width = 0;  // 0: four times width
  Activation activation = Activation::gelu_tanh;
  bool gated = false;
  bool bias = true;
  Index layer = 0;  // layer number reported to a ForwardHook
  DType dtype = DType::float32;
  Initialisation initialisation = Initialisation::random;
};

// Computes c_proj(activation(c_fc(x))), or gated c_proj(activation(c_gate(x)) * c_fc(x)): [...,
// width] -> [..., width]. Normalises x first if `norm` is given. A hook sees the input of the
// activation as mlp_pre and the input of c_proj as mlp_post.
class Mlp : public Module {
 public:
  explicit Mlp(const MlpOptions& options, const RandomStream& random = {});
  Tensor forward(const Tensor& x, const ForwardContext& context = {},
                 const std::optional<NormParameters>& norm = std::nullopt) const;

 private:
  Linear c_fc_;
  std::optional<Linear> c_gate_;
  Linear c_proj_;
  Activation activation_;
  Index layer_;
};

}  // namespace headlight
