#pragma once

#include <vector>

#include "headlight/data/sequential_batches.h"
#include "headlight/heads/effects/ablation.h"
#include "heads/effects/forward_replay.h"
#include "heads/point_values.h"

namespace headlight {

// Replaces the outputs of some heads by their columns of `substitutes`: [L] of [N, H D]; empty for
// zeros. `substitutes` must outlive the hook.
class ReplaceHeads final : public ForwardHook {
 public:
  ReplaceHeads(const LanguageModel& model, HeadSet heads, const std::vector<Tensor>& substitutes)
      : layout_(model.heads()), heads_(std::move(heads)), substitutes_(substitutes) {}

  bool wants(Point point, Index layer) const override;
  Tensor visit(const Place& place, const Tensor& z) override;

 private:
  HeadLayout layout_;
  HeadSet heads_;
  const std::vector<Tensor>& substitutes_;
};

// Replacement values for ablated heads, by batch. Model and batches must outlive it.
class HeadSubstitutes {
 public:
  // Runs the model over all batches if `mode` is mean.
  HeadSubstitutes(const LanguageModel& model, const SequentialBatches& batches, AblationMode mode);

  // Substitutes for ReplaceHeads on batch `index`: [L] of [N, H D]; empty for zeros. Throws Error
  // for resample with a single document.
  std::vector<Tensor> for_batch(const ForwardReplay& replay, Index index) const;

 private:
  const LanguageModel& model_;
  const SequentialBatches& batches_;
  AblationMode mode_;
  PointValues means_;  // of z, [H D]
};

}  // namespace headlight
