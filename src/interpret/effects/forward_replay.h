#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "headlight/interpret/recorded_pass.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/language_model.h"
#include "interpret/effects/token_losses.h"

namespace headlight {

// A pass of the batch with changes by a hook.
struct ChangedRun {
  ForwardHook* hook = nullptr;
  // The lowest layer that the hook changes; -1: it may change embeddings too.
  Index layer = 0;
  // The first position that the pass computes in each sequence: first_computed().
  Index first = 0;
};

// One recorded pass of a batch through a model, and passes with changes. Keeps the input of every
// layer, so changed passes skip equal parts: the layers below the change and, in models with a
// cache, the tokens before it. Models whose passes have no parts run completely. Records no
// gradient. The model must outlive it.
class ForwardReplay {
 public:
  // Continues from a pass of the batch. `memory`: bytes that runs computed together may take,
  // about; 0: a quarter of what is free.
  ForwardReplay(const LanguageModel& model, Batch batch, std::shared_ptr<const RecordedPass> pass,
                Index memory = 0);

  // Where runs begin. Those that begin in a text read keys and values of the tokens before from the
  // recorded pass, which keeps them.
  enum class Runs { in_texts, at_starts };

  // Records a pass with a hook, which may be null.
  ForwardReplay(const LanguageModel& model, Batch batch, ForwardHook* hook = nullptr,
                Index memory = 0, Runs runs = Runs::in_texts);

  const Batch& batch() const { return batch_; }
  const LanguageModel& model() const { return model_; }

  // Final hidden states, [N, C].
  const Tensor& ends() const { return pass_->ends; }
  // Returns first_computed() of the first row in which values [N, ...] differ; none if they are
  // equal.
  std::optional<Index> first_difference(const Tensor& a, const Tensor& b) const;
  // Returns the rows of values [N, ...] that a run from position `first` on has.
  Tensor rows_from(const Tensor& values, Index first) const;
  // Returns how many of these runs, from the first on, fit into memory together; at least one.
  // More than are fastest do not count as fitting. `own`: elements that the caller keeps for a run.
  std::size_t runs_at_once(std::span<const ChangedRun> runs, Index own = 0) const;
  // Calls a function with the ends [count N, C] of the runs from number `first` on, for as many as
  // fit into memory; they are computed together, fastest in the order of their layers. Each hook
  // sees the rows of its run only; one of several consecutive runs sees their rows as one value.
  void for_ends(std::span<const ChangedRun> runs,
                const std::function<void(std::size_t first, const Tensor& ends)>& take) const;
  // Runs the layers below `last` with the changes of all runs, for their hooks and for `all`, which
  // sees the values of all runs and may be null.
  void run_below(Index last, std::span<const ChangedRun> runs, ForwardHook* all = nullptr) const;

  // Loss of each row of ends, [N]; 0 without a target.
  std::vector<double> token_losses_of(const Tensor& ends, const Tensor& targets) const {
    return token_losses(model_, ends, targets);
  }
  std::vector<double> token_losses_of(const Tensor& ends) const {
    return token_losses_of(ends, batch_.targets);
  }
  // KL divergence of the prediction of each token with a target from that of ends(), in nats, [N].
  std::vector<double> divergences_of(const Tensor& ends) const;
  // Sums of values [N] over each sequence, [B].
  std::vector<double> sums_of(const std::vector<double>& rows) const;
  // Logits [N, V] of ends [N, C].
  Tensor logits_of(const Tensor& ends) const;
  // Logits [1, V] after token `row` of the batch.
  Tensor logits_of(const Tensor& ends, Index row) const;

 private:
  class Together;

  // Position of a run's first row in a sequence; the last one is always there.
  Index first_in(std::size_t sequence, Index first) const;
  Tensor ends_of(std::span<const ChangedRun> runs) const;

  const LanguageModel& model_;
  Batch batch_;
  double memory_;  // bytes; 0: unknown
  std::shared_ptr<const RecordedPass> pass_;
};

// A pass of one text: the stream after the last layer and the final hidden states, both [T, C].
struct PassedText {
  Index first = 0;  // the first position that the hook saw
  Tensor stream;
  Tensor ends;
};

// Shows a hook, which changes nothing and needs no embedding, the values of a text from `position`
// on: in a pass that begins there if the text's pass is kept, else in one of the whole text, which
// then is kept. `kept` may be null.
PassedText read_from(const LanguageModel& model, const Batch& text, Index position,
                     ForwardHook& hook, RecordedPasses* kept);

// Number of targets of each sequence, [B].
std::vector<double> target_counts(const Batch& batch);

}  // namespace headlight
