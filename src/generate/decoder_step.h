#pragma once

#include <span>
#include <vector>

#include "generate/decoder_model.h"
#include "headlight/generate/decoder.h"

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
  StepVectors sums;       // [B, H, ContextParts::most(block_size), attention_sums(D)]
  StepVectors attended;   // [B, H D]
  StepVectors inner;      // [B, I]
  StepVectors gated;      // [B, I], the factor of the activated gate
  StepVectors logits;     // [B, V]
  StepVectors rotary;     // [B, cosines and sines of all rotations of the layers]

  StepVectors normalized(Index thread) const {  // [B, C]
    return {normalized_.of(thread * batch_), normalized_.stride};
  }

 private:
  StepVectors make(Index batch, Index length);

  Index batch_;
  Index threads_;
  std::vector<Tensor> memory_;
  StepVectors normalized_;  // [threads * B, C]
};

// Returns the number of threads that a step on `batch` sequences uses.
Index step_threads(const DecoderModel& model, Index batch);

// Computes one step of the sequences in `items` on a team of threads; their embeddings are in
// workspace.stream. Team members share the rows of every matrix and the heads, and wait at barriers
// for results of others. Each member computes norms itself, which is cheaper than a barrier. Shows
// nothing to hooks. The caches must have room for the tokens.
void run_step(const DecoderModel& model, std::span<const DecodeItem> items,
              const StepWorkspace& workspace, Index threads);

}  // namespace headlight
