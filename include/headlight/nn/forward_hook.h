#pragma once

#include <map>
#include <memory>
#include <utility>

#include "headlight/nn/point.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

struct Batch;

// A point and its layer (0 for points outside layers).
using PointInLayer = std::pair<Point, Index>;
using PointValues = std::map<PointInLayer, Tensor>;

struct HookSite {
  Point point = Point::resid_pre;
  Index layer = 0;     // 0 for points outside the layers
  Index sequence = 0;  // index in the pass, for attn_scores and pattern
  // The value in_family_units() over Headlight's: for the residual stream residual_multiplier.
  double unit = 1;
};

// Sees and may replace intermediate values of a forward pass. Set it in ForwardContext or pass it
// to a Decoder. It is called in training, on prompts and for generated tokens; points that no hook
// wants cost nothing.
class ForwardHook {
 public:
  ForwardHook() = default;
  virtual ~ForwardHook() = default;
  ForwardHook(const ForwardHook&) = delete;
  ForwardHook& operator=(const ForwardHook&) = delete;

  // Called before the points of a pass with its tokens and positions, and again when it continues
  // with fewer rows: logits often need only the last tokens.
  virtual void begin(const Batch& /*rows*/) {}
  // Returns true if visit() is to be called at this point. Must not change during a forward pass.
  virtual bool wants(Point point, Index layer) const = 0;
  // Returns true if visit() gets values in the units of the model's family, as in transformers and
  // TransformerLens: hooks whose values users see, give or compare. False: in Headlight's units.
  virtual bool in_family_units() const { return false; }
  // Returns false if each changed pass must run alone while this hook is attached to a model. True:
  // several may run as one, with the sequences of each after those of the one before.
  virtual bool takes_passes_together() const { return true; }
  // Returns the replacement of `value`, with the same shape and type. Its ops are part of the
  // autograd graph, so that gates learn gradients.
  virtual Tensor visit(const HookSite& site, const Tensor& value) = 0;
};

// Two hooks, called one after the other; either may be null.
class HookPair final : public ForwardHook {
 public:
  // A Gpt gives its residual_multiplier, from which the unit of every site follows. 0: the sites
  // keep their units.
  HookPair(ForwardHook* first, ForwardHook* second, double residual_multiplier = 0)
      : first_(first), second_(second), residual_multiplier_(residual_multiplier) {}

  void begin(const Batch& rows) override;
  bool wants(Point point, Index layer) const override;
  Tensor visit(const HookSite& site, const Tensor& value) override;
  // Returns both hooks as one, or the only one if it needs no units, or null.
  ForwardHook* get();

 private:
  ForwardHook* first_;
  ForwardHook* second_;
  double residual_multiplier_;
};

// Features of a point's values, such as those of a sparse autoencoder.
class FeatureMap {
 public:
  FeatureMap() = default;
  virtual ~FeatureMap() = default;
  FeatureMap(const FeatureMap&) = delete;
  FeatureMap& operator=(const FeatureMap&) = delete;

  virtual PointInLayer input() const = 0;  // the point whose values have the features
  // The point that the features write: input(), or a later one of the pass.
  virtual PointInLayer output() const = 0;
  // Returns the features [N, F] of values [N, ...] of input() in the units of the model's family,
  // with gradients.
  virtual Tensor features(const Tensor& values) const = 0;
  // Returns what a change [N, F] of the features of these values adds to output().
  virtual Tensor written(const Tensor& change, const Tensor& values) const = 0;
};

using FeatureMaps = std::map<Index, std::shared_ptr<const FeatureMap>>;  // by layer

// Two hooks, called one after the other, that also see features at Point::feature of their layer.
// Their changes of features are added to the values that the features write. The rest of these
// values, which the features do not explain, stays.
class FeaturePoints final : public ForwardHook {
 public:
  // `before` sees values that features write without these changes, `after` with them. Either may
  // be null; they and `maps` must outlive it. residual_multiplier: see HookPair.
  FeaturePoints(ForwardHook* before, ForwardHook* after, const FeatureMaps& maps,
                double residual_multiplier)
      : before_(before),
        after_(after),
        both_(before, after, residual_multiplier),
        maps_(maps),
        residual_multiplier_(residual_multiplier) {}

  void begin(const Batch& rows) override;
  bool wants(Point point, Index layer) const override;
  Tensor visit(const HookSite& site, const Tensor& value) override;

 private:
  ForwardHook* before_;
  ForwardHook* after_;
  HookPair both_;
  const FeatureMaps& maps_;
  double residual_multiplier_;
  std::map<Index, Tensor> changes_;  // by layer, of values that have not been visited yet
};

// Returns HookSite::unit of a point in a model with this residual_multiplier.
double family_unit(Point point, double residual_multiplier);

// Returns the hook's replacement of `value`, or `value` if there is no hook or it does not want
// this point. Converts the units of hooks that are in_family_units(). Throws Error when the hook
// returns another shape or type.
Tensor visited(ForwardHook* hook, const HookSite& site, const Tensor& value);

// Throws Error about the site if gradients are recorded through `value`. Call it before replacing
// the value by one without its gradient history: gradients upstream would be wrong.
void require_no_gradient(const HookSite& site, const Tensor& value);

// Returns true if there is a hook that wants one of the points.
bool wants_any(const ForwardHook* hook, std::initializer_list<Point> points, Index layer);

}  // namespace headlight
