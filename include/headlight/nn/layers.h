#pragma once

#include <optional>

#include "headlight/nn/forward_hook.h"
#include "headlight/nn/module.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/fused_layers.h"
#include "headlight/ops/normalization.h"

// The small building blocks. Weights start as PyTorch's modules of the same name do.
namespace headlight {

struct LinearOptions {
  Index inputs = 0;
  Index outputs = 0;
  bool bias = true;
  DType dtype = DType::float32;
  bool zeros = false;  // start from zeros: all values will be overwritten anyway
};

class Linear;

// Whoever keeps weight matrices in a form of its own multiplies with it.
class WeightProducts {
 public:
  virtual ~WeightProducts() = default;
  // What linear.forward(x) is up to rounding; x is [N, inputs].
  virtual Tensor multiply(const Linear& linear, const Tensor& x) const = 0;
};

// x [..., inputs] -> [..., outputs]. Parameters: weight [outputs, inputs], bias [outputs].
class Linear : public Module {
 public:
  explicit Linear(const LinearOptions& options, const RandomStream& random = {});
  // With a norm: of x normalised.
  Tensor forward(const Tensor& x, const ForwardContext& context = {},
                 const std::optional<NormParameters>& norm = std::nullopt) const;

  Tensor weight;
  Tensor bias;  // undefined without one
};

// ids [...] int32 -> [..., width]. Parameter: weight [count, width]; the row of padding_index
// starts as zeros and learns nothing.
class Embedding : public Module {
 public:
  struct Options {
    Index count = 0;
    Index width = 0;
    std::optional<Index> padding_index = std::nullopt;
    DType dtype = DType::float32;
    bool zeros = false;  // as in LinearOptions
  };

  explicit Embedding(const Options& options, const RandomStream& random = {});
  Tensor forward(const Tensor& ids) const;

  Tensor weight;

 private:
  std::optional<Index> padding_index_;
};

struct NormOptions {
  Index width = 0;
  double epsilon = 1e-5;
  bool bias = true;  // LayerNorm only, and not of NormKind::rms
  DType dtype = DType::float32;
  bool affine = true;               // learns a gain, and a shift when `bias` says so
  NormKind kind = NormKind::layer;  // LayerNorm only, as is what follows
  bool gain_plus_one = false;       // see NormParameters; the gain starts from 0
};

// Where a hook comes by a norm.
struct NormPoints {
  Point scale = Point::ln1_scale;
  Point normalized = Point::ln1;
  Index layer = 0;
};

// A norm over the last axis, also an RMS norm when its kind is that. Parameters, when affine:
// weight [width] (the gain), bias [width].
class LayerNorm : public Module {
 public:
  explicit LayerNorm(const NormOptions& options);
  Tensor forward(const Tensor& x) const;
  // As a hook makes of what x is divided by, and of the result.
  Tensor forward(const Tensor& x, ForwardHook* hook, const NormPoints& points) const;
  // For ops that normalise their input themselves.
  NormParameters norm() const { return {weight, bias, epsilon_, kind_, gain_plus_one_}; }

  Tensor weight;  // undefined when not affine, as is the bias
  Tensor bias;    // undefined without one

 private:
  double epsilon_;
  NormKind kind_;
  bool gain_plus_one_;
};

// x [N, width] or [N, width, L]. Parameters, when affine: weight, bias [width]; buffers:
// running_mean, running_var [width].
class BatchNorm1d : public Module {
 public:
  explicit BatchNorm1d(const NormOptions& options, double momentum = 0.1);
  Tensor forward(const Tensor& x, const ForwardContext& context);

  Tensor weight;  // undefined when not affine, as is the bias
  Tensor bias;
  RunningStatistics running;

 private:
  double epsilon_;
  double momentum_;
};

// Drops elements while training. `label` tells the modules of one model apart, so that each draws
// numbers of its own.
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
  Index inner_width = 0;  // 0: four times the width
  Activation activation = Activation::gelu_tanh;
  bool gated = false;
  bool bias = true;
  Index layer = 0;  // the number under which a ForwardHook knows this module
  DType dtype = DType::float32;
  bool zeros = false;  // as in LinearOptions
};

// c_proj(activation(c_fc(x))), gated c_proj(activation(c_gate(x)) * c_fc(x)): [..., width] ->
// [..., width]; with `norm`, of x normalised first. A hook sees as mlp_pre what is activated, and
// as mlp_post what c_proj reads.
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
