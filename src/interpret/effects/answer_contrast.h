#pragma once

#include <functional>
#include <span>
#include <vector>

#include "headlight/interpret/effects/patching.h"
#include "headlight/nn/language_model.h"
#include "interpret/effects/forward_replay.h"

namespace headlight {

// The measure of patching: log p(answer | text) - log p(wrong | text). Each token of an answer is
// read after the text and the answer tokens before it. For single-token answers it is the
// difference of their logits after the text. A metric of the task replaces it.
class AnswerContrast {
 public:
  // Throws Error as patch_grid() for invalid tasks. The model and the task must outlive it.
  AnswerContrast(const LanguageModel& model, const PatchingTask& task);

  // Throws Error about "corrupt" unless the values after the two texts differ and are finite.
  void require_different(double clean, double corrupt) const;

  // A copy: the text alone for single-token answers. Otherwise it is two sequences: the text plus
  // all but the last token of the answer, and the same for the wrong answer.
  std::vector<std::vector<std::int32_t>> sequences(const std::vector<std::int32_t>& text) const;
  // Batch of one copy of a text. The targets are the tokens of answers of several tokens; for
  // single tokens targets are undefined, so a pass computes no losses.
  Batch batch(const std::vector<std::int32_t>& text) const;
  // First row of each sequence in a copy, followed by the number of rows of a copy.
  const std::vector<Index>& starts() const { return starts_; }
  Index rows() const { return starts_.back(); }

  // Difference after a text: a scalar, with gradients if they are recorded.
  Tensor after(const LanguageModel& model, const std::vector<std::int32_t>& text,
               ForwardHook* hook) const {
    return of_hidden(model, model.hidden(batch(text), {.hook = hook}));
  }
  // The same from the final hidden states [N, C] of a copy.
  Tensor of_hidden(const LanguageModel& model, const Tensor& hidden) const;
  // Difference after a text, without gradients.
  double difference(const LanguageModel& model, const std::vector<std::int32_t>& text,
                    ForwardHook* hook = nullptr) const;
  // Differences [copies] from the ends [copies rows(), F] of any number of copies.
  std::vector<double> of_copies(const ForwardReplay& replay, const Tensor& ends) const;
  // Difference of a replay of batch(text). Has the bits of of_copies() and of_runs().
  double of_replay(const ForwardReplay& replay) const {
    return of_copies(replay, replay.ends()).front();
  }
  // Differences [runs] of changed runs of a replay of batch(text).
  std::vector<double> of_runs(
      const ForwardReplay& replay, std::span<const ChangedRun> runs,
      const std::function<void(double share)>& progress = [](double) {}) const;

 private:
  std::vector<double> metrics_of_copies(const ForwardReplay& replay, const Tensor& ends) const;
  std::vector<double> losses_of_copies(const ForwardReplay& replay, const Tensor& ends) const;
  // Logits [B] of the answer minus those of the wrong one, for single-token answers.
  Tensor logit_difference(const LanguageModel& model, const Tensor& hidden) const;
  // Number of sequences of copies with these rows, and the first row of one.
  Index sequences_of(const Tensor& ends) const {
    return ends.size(0) / rows() * (std::ssize(starts_) - 1);
  }
  Index first_row(Index sequence) const;
  // Returns row `row` of every sequence, [B, C].
  Tensor rows_at(const Tensor& hidden, Index row) const;
  // Rows [A, C] of a sequence of copies that predict its answer's tokens.
  Tensor answer_rows(const Tensor& hidden, Index sequence) const;

  const LogitMetric* metric_;                    // null: the difference of the answers
  const std::vector<std::int32_t>* answers_[2];  // the answer and the wrong answer
  bool multi_token_;                             // whether an answer has several tokens
  Index length_;                                 // T, tokens of the text
  Index answered_at_;                            // position that predicts single-token answers
  std::vector<Index> starts_;
};

}  // namespace headlight
