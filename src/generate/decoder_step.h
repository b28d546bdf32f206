#pragma once

#include <exception>
#include <span>
#include <vector>

#include "generate/decoder_model.h"
#include "headlight/generate/decoder.h"
#include "headlight/nn/forward_hook.h"
#include "kernels/parallel.h"

namespace headlight {

// Memory of the steps for up to `batch` sequences and `threads` threads. Rows are as long as the
// panels that write them; the padding holds 0.
class StepWorkspace {
 public:
  StepWorkspace(const DecoderModel& model, Index batch, Index threads);

  bool fits(Index batch, Index threads) const { return batch <= batch_ && threads <= threads_; }

  StepVectors stream;     // [B, C], the residual stream
  StepVectors projected;  // [B, C], what is added to it
  StepVectors qkv;        // [B, (H + 2 G) D]
  StepVectors attended;   // [B, H D]
  StepVectors inner;      // [B, I]
  StepVectors gated;      // [B, I], what a gate multiplies
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

// Shows rows to a hook that wants them, as a tensor of this shape [B, ...], and takes what it
// returns. Throws what the hook throws.
void visit_rows(ForwardHook* hook, const Place& place, const StepVectors& rows, const Shape& shape);

// Multiply-adds of a step on `batch` sequences.
Index step_work(const DecoderModel& model, Index batch);

// Threads that such a step is worth, from the shape of the model alone.
Index step_threads(const DecoderModel& model, Index batch);

// One step of the sequences in `items`, whose embeddings are in workspace.stream: the members of a
// team share the rows of every matrix and the heads, and meet where one needs what others computed.
// Norms are computed by each member for itself, which costs less than to meet once more. A hook is
// called by the first member, while the others wait.
class DecoderStep {
 public:
  // `hook` may be null. The caches have room for one more position.
  DecoderStep(const DecoderModel& model, std::span<const DecodeItem> items,
              const StepWorkspace& workspace, ForwardHook* hook = nullptr);

  void run(const kernels::TeamMember& me);
  // The logits of what stands in workspace.normalized(0).
  void run_head(const kernels::TeamMember& me) const;
  // Throws what the hook threw.
  void rethrow() const;

 private:
  class Layer;

  // The stream to the vectors of this member; what a hook sees is computed by the first.
  void normalize_stream(const kernels::TeamMember& me, const NormWeights& weights,
                        const LayerNorm& norm, const NormPoints& points);
  // `from` to `to`, every sequence; they may be the same.
  void normalize(const NormWeights& norm, const StepVectors& from, const StepVectors& to) const;
  void normalize_row(const NormWeights& norm, const float* from, float* to, Index width) const;
  bool is_wanted(Point point, Index layer) const {
    return hook_ != nullptr && hook_->wants(point, layer);
  }
  // Calls what may throw on the first member.
  template <class Body>
  void first(const kernels::TeamMember& me, const Body& body);
  // The same between two meetings.
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
  std::vector<Tensor> maps_;  // [B] of [H, 1, S], of the layer whose maps somebody watches
  std::exception_ptr error_;  // of the hook; written by the first member
};

}  // namespace headlight
