#pragma once

#include <vector>

#include "headlight/heads/patching.h"
#include "headlight/nn/gpt.h"
#include "heads/effects/forward_replay.h"

namespace headlight {

// Throws Error about "corrupt" unless the two differ and are finite.
void require_different(double clean_difference, double corrupt_difference);

// What patching measures: log p(answer | text) - log p(wrong | text), where every token of an
// answer is read behind the text and those before it. Of answers of one token that is the
// difference of their logits behind the text, and computed as such.
class AnswerContrast {
 public:
  // Throws Error as patch_heads() says of a task. The model and the task must outlive it.
  AnswerContrast(const LanguageModel& model, const PatchingTask& task);

  // A text as it is read, `copies` times over: by itself, or, when an answer has several tokens,
  // twice: followed by all of the answer but its last token, and by the same of the wrong one.
  // Targets are the tokens of answers of several tokens; undefined for answers of one, whose logits
  // are read behind the text alone, so that a pass computes no losses.
  Batch batch(const std::vector<std::int32_t>& text, Index copies = 1) const;
  // Where the sequences of a copy begin, and its number of rows behind them.
  const std::vector<Index>& starts() const { return starts_; }
  Index rows() const { return starts_.back(); }

  // The difference behind a text that a Gpt reads, a scalar with gradients where they are recorded.
  Tensor after(const Gpt& model, const std::vector<std::int32_t>& text, ForwardHook* hook) const;
  // Of the hidden states [copies R, C] of a Gpt for batch(text, copies), [copies].
  std::vector<double> of_copies(const Gpt& model, const Tensor& hidden, const Batch& batch) const;
  // Of a replay of batch(text) by any model, and of the same with a hook that changes nothing below
  // `layer`.
  double of(const ForwardReplay& replay) const;
  double of(const ForwardReplay& replay, Index layer, ForwardHook& hook) const;

 private:
  Tensor logit_difference(const Gpt& model, const Tensor& hidden, const Batch& batch) const;
  double of_logits(const Tensor& logits) const;
  // The rows of a sequence of the batch behind which its answer's tokens stand, [A, C].
  Tensor answer_rows(const Tensor& hidden, const Batch& batch, Index sequence) const;

  const std::vector<std::int32_t>* answers_[2];  // the answer and the wrong one
  bool several_;                                 // tokens in one of them
  Index length_;                                 // T, of the text
  std::vector<Index> starts_;
};

}  // namespace headlight
