#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "headlight/datasets/dataset.h"
#include "headlight/nn/gpt.h"
#include "headlight/ops/preference.h"
#include "headlight/train/evaluation.h"

namespace headlight {

// Trains a model to prefer one of two answers: see preference_loss(). The reference is the model
// before training, whose log-probabilities of all pairs are computed once.
class PreferenceTuning {
 public:
  // `precision`: of every pass. The model must outlive this object.
  PreferenceTuning(const Gpt& model, double beta, Precision precision = Precision::float32);

  // Computes the reference for the pairs of a dataset with the present weights, and returns it [P,
  // 2]: log-probabilities of the preferred and the rejected answers.
  Tensor add_reference(const TokenDataset& dataset, const EvaluationOptions& options = {});
  // Adds a reference that add_reference() returned for the same dataset. Throws Error for another
  // number of pairs.
  void restore_reference(const TokenDataset& dataset, const Tensor& reference);

  // Returns the sum of the losses of a batch's pairs, divided by `normalizer`; 0: their number. A
  // LossFunction for Trainer::set_loss(). Throws Error for a pair without a reference.
  Tensor loss(const Batch& batch, const ForwardContext& context, Index normalizer) const;
  // Evaluates as headlight::evaluate() does: the mean loss of a pair, and how many are preferred.
  Evaluation evaluate(const TokenDataset& dataset, const EvaluationOptions& options = {}) const;

 private:
  Tensor token_losses(const Batch& batch, ForwardContext context) const;
  std::vector<PreferredPair> reference_of(const Batch& batch) const;

  const Gpt& model_;
  double beta_;
  Precision precision_;
  std::unordered_map<std::size_t, double> reference_;  // log-probabilities by key of the sequence
};

// Returns PreferenceTuning::evaluate() of a model whose reference is another one, such as the model
// before its training.
Evaluation evaluate_preferences(const Gpt& model, const Gpt& reference, double beta,
                                const TokenDataset& dataset, const EvaluationOptions& options = {});

}  // namespace headlight
