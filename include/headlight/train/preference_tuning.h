#pragma once

#include "headlight/datasets/dataset.h"
#include "headlight/nn/gpt.h"
#include "headlight/ops/preference.h"
#include "headlight/train/evaluation.h"

namespace headlight {

// Trains a model to prefer one of two answers: see preference_loss(). The reference of a dataset is
// log_probabilities() of its pairs by the model before training, computed once.
class PreferenceTuning {
 public:
  // `precision`: of every pass. The model must outlive this object.
  PreferenceTuning(const Gpt& model, double beta, Precision precision = Precision::float32);

  // Returns the log-probabilities of the preferred and the rejected answers of a dataset's pairs
  // with the present weights, [P, 2] float64.
  Tensor log_probabilities(const TokenDataset& dataset,
                           const EvaluationOptions& options = {}) const;
  // Returns the sum of the losses of a batch's pairs, divided by `normalizer`; 0: their number.
  // `reference` is that of the batch's dataset. Throws Error for a pair without a reference.
  Tensor loss(const Batch& batch, const Tensor& reference, const ForwardContext& context,
              Index normalizer) const;
  // Evaluates as headlight::evaluate() does: the mean loss of a pair, and how many are preferred.
  Evaluation evaluate(const TokenDataset& dataset, const Tensor& reference,
                      const EvaluationOptions& options = {}) const;

 private:
  Tensor token_losses(const Batch& batch, ForwardContext context) const;

  const Gpt& model_;
  double beta_;
  Precision precision_;
};

// Returns PreferenceTuning::evaluate() of a model whose reference is another one, such as the model
// before its training.
Evaluation evaluate_preferences(const Gpt& model, const Gpt& reference, double beta,
                                const TokenDataset& dataset, const EvaluationOptions& options = {});

}  // namespace headlight
