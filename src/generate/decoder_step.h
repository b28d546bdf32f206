#pragma once

#include <exception>
#include <span>
#include <vector>

#include "generate/decoder_model.h"
#include "headlight/generate/decoder.h"
#include "headlight/nn/forward_hook.h"
#include "kernels/parallel.h"

namespace headlight {

// Memory of steps for up to `batch` sequences and `threads` threads. Rows are padded with 0 to
// whole panels.
class StepWorkspace {
 public:
  StepWorkspace(const DecoderModel& model, Index batch, Index threads);

  bool fits(Index batch, Index threads) const { return batch <= batch_ && threads <= threads_; }

  StepVectors stream;     // [B, C], the residual stream
  StepVectors projected;  // [B, C], the branch output added to the stream
  StepVectors qkv;        // [B, (H + 2 G) D]
  StepVectors attended;   // [B, H D]
  StepVectors inner;      // [B, I]
  StepVectors gated;      // [B, I], the factor of the activated gate
  StepVectors logits;     // [B, V]

  StepVectors normalized(Index thread) const;  // [B, C]
  float* scores(Index thread) const;           // [block_size]

 private:
  StepVectors make(Index batch, Index length);

  Index batch_;
  Index threads_;
  std::vector<Tensor> memory_;
  StepVectors normalized_;  // [threads * B, C]
  StepVectors scores_;      // [threads, block_size]
};

// Passes rows to a hook that wants them, as a tensor of this shape [B, ...], and stores its result.
// Rethrows the hook's exceptions.
void visit_rows(ForwardHook* hook, const Place& place, const StepVectors& rows, const Shape& shape);

// Returns the multiply-adds of a step on `batch` sequences.
Index step_work(const DecoderModel& model, Index batch);

// Returns the number of threads that a step uses.
Index step_threads(const DecoderModel& model, Index batch);

// Computes one step of the sequences in `items`; their embeddings are in workspace.stream. Team
// members share the rows of every matrix and the heads, and wait at barriers for results of others.
// Each member computes norms itself, which is cheaper than a barrier. The first member calls the
// hook while the others wait.
class DecoderStep {
 public:
  // `hook` may be null. The caches must have room for one more position.
  DecoderStep(const DecoderModel& model, std::span<const DecodeItem> items,
              const StepWorkspace& workspace, ForwardHook* hook = nullptr);

  void run(const kernels::TeamMember& me);
  // Computes the logits of workspace.normalized(0).
  void run_head(const kernels::TeamMember& me) const;
  // Rethrows the hook's exception, if any.
  void rethrow() const;

 private:
  class Layer;

  // Normalises the stream into this member's vectors. With a hook, the first member computes them.
  void normalize_stream(const kernels::TeamMember& me, const NormWeights& weights,
                        const LayerNorm& norm, const NormPoints& points);
  // Normalises every sequence from `from` to `to`, which may be equal.
  void normalize(const NormWeights& norm, const StepVectors& from, const StepVectors& to) const;
  void normalize_row(const NormWeights& norm, const float* from, float* to, Index width) const;
  bool is_wanted(Point point, Index layer) const {
    return hook_ != nullptr && hook_->wants(point, layer);
  }
  // Calls `body` on the first member and stores its exception.
  template <class Body>
  void first(const kernels::TeamMember& me, const Body& body);
  // Calls first() between two barriers.
  template <class Body>
  void alone(const kernels::TeamMember& me, const Body& body);
  void visit(const kernels::TeamMember& me, const Place& place, const StepVectors& rows,
             const Shape& shape_of_row);

  const DecoderModel& model_;
  std::span<const DecodeItem> items_;
  const StepWorkspace& work_;
  ForwardHook* hook_;
  Index batch_;
  bool pre_norm_;
  std::vector<Tensor> maps_;  // [B] of [H, 1, S], for a layer whose maps a hook watches
  std::exception_ptr error_;  // of the hook; set by the first member
};

}  // namespace headlight
