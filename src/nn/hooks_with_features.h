#pragma once

#include <algorithm>

#include "headlight/nn/forward_hook.h"

namespace headlight {

// Part of a hook: the points that features write, or all others.
class HookPart final : public ForwardHook {
 public:
  // `hook` may be null; it and `maps` must outlive this.
  HookPart(ForwardHook* hook, const FeatureMaps& maps, bool is_written)
      : hook_(hook), maps_(maps), is_written_(is_written) {}

  void begin(const Batch& rows) override {
    if (hook_ != nullptr && !is_written_) {
      hook_->begin(rows);
    }
  }
  bool wants(Point point, Index layer) const override {
    const bool is_written = std::ranges::any_of(maps_, [&](const auto& entry) {
      return entry.second->output() == PointInLayer{point, layer};
    });
    return is_written == is_written_ && wants_any(hook_, {point}, layer);
  }
  bool in_family_units() const override { return hook_->in_family_units(); }
  Tensor visit(const HookSite& site, const Tensor& value) override {
    return hook_->visit(site, value);
  }

 private:
  ForwardHook* hook_;
  const FeatureMaps& maps_;
  bool is_written_;
};

// The hooks of a model and of a context as one, with features. The context's hook sees the points
// that features write when their changes are in them.
class HooksWithFeatures {
 public:
  // `attached` and `hook` may be null. residual_multiplier: see HookPair.
  HooksWithFeatures(ForwardHook* attached, ForwardHook* hook, const FeatureMaps& maps,
                    double residual_multiplier)
      : others_(hook, maps, false),
        written_(hook, maps, true),
        before_(attached, &others_, residual_multiplier),
        features_(&before_, maps, residual_multiplier),
        all_(&features_, &written_, residual_multiplier) {}

  ForwardHook* get() { return &all_; }

 private:
  HookPart others_;
  HookPart written_;
  HookPair before_;
  FeaturePoints features_;
  HookPair all_;
};

}  // namespace headlight
