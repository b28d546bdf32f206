#include "headlight/train/preference_tuning.h"

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/datasets/batches/sequential_batches.h"
#include "headlight/ops/cross_entropy.h"

namespace headlight {
namespace {

SequentialBatches batches_of(const TokenDataset& dataset, const EvaluationOptions& options) {
  require(dataset.pairs, "[PreferenceTuning] expected a dataset of pairs of answers");
  return SequentialBatches(dataset, {.batch_size = options.batch_size})
      .at_most(options.max_batches);
}

Processes& processes_of(const EvaluationOptions& options) {
  return options.processes == nullptr ? alone() : *options.processes;
}

// Returns the reference [P, 2] of a batch's pairs.
std::vector<PreferredPair> reference_of(const Batch& batch, const Tensor& reference) {
  const double* values = reference.data<double>();
  std::vector<PreferredPair> pairs;
  for (const Index pair : batch.records) {
    require(pair < reference.size(0), "[PreferenceTuning] a pair has no reference");
    pairs.push_back({.chosen = values[2 * pair], .rejected = values[2 * pair + 1]});
  }
  return pairs;
}

}  // namespace

PreferenceTuning::PreferenceTuning(const Gpt& model, double beta, Precision precision)
    : model_(model), beta_(beta), precision_(precision) {
  require(!model.head_bias().defined(),
          "preference tuning: models whose head has a bias are not supported");
}

// Returns [N] float64.
Tensor PreferenceTuning::token_losses(const Batch& batch, ForwardContext context) const {
  require(batch.pairs, "[PreferenceTuning] expected a batch of pairs of answers");
  context.precision = precision_;
  return linear_cross_entropy_rows(
      model_.hidden(batch, context), model_.head_weight(), batch.targets,
      {.ignore_index = kIgnoreTarget, .cap = model_.config().logit_cap, .precision = precision_});
}

Tensor PreferenceTuning::log_probabilities(const TokenDataset& dataset,
                                           const EvaluationOptions& options) const {
  const NoGrad no_grad;
  const SequentialBatches batches = batches_of(dataset, options);
  Processes& processes = processes_of(options);
  std::vector<double> values(2 * dataset.sequences.size());  // 0: of other processes
  for (Index i = processes.rank(); i < batches.count(); i += processes.count()) {
    const Batch batch = batches.batch(i);
    const auto pairs = pair_log_probabilities(token_losses(batch, {}), batch.offsets);
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const auto next = values.begin() + 2 * batch.records[k];
      next[0] = pairs[k].chosen;
      next[1] = pairs[k].rejected;
    }
  }
  add_across(processes, values);
  return Tensor::from(values, {std::ssize(dataset.sequences), 2});
}

Tensor PreferenceTuning::loss(const Batch& batch, const Tensor& reference,
                              const ForwardContext& context, Index normalizer) const {
  return preference_loss(token_losses(batch, context), batch.offsets,
                         reference_of(batch, reference), {.beta = beta_, .normalizer = normalizer});
}

Evaluation PreferenceTuning::evaluate(const TokenDataset& dataset, const Tensor& reference,
                                      const EvaluationOptions& options) const {
  const NoGrad no_grad;
  const SequentialBatches batches = batches_of(dataset, options);
  Processes& processes = processes_of(options);
  Evaluation result;
  // Loss, preferred, margin, likelier.
  std::vector<double> sums(4 * static_cast<std::size_t>(batches.count()));
  for (Index i = 0; i < batches.count(); ++i) {
    const Batch batch = batches.batch(i);
    result.pairs += batch.loss_terms();
    result.tokens += batch.target_count;
    if (i % processes.count() != processes.rank()) {
      continue;
    }
    const std::vector<PreferredPair> before = reference_of(batch, reference);
    const Tensor losses = token_losses(batch, {});
    double* sum = sums.data() + 4 * i;
    sum[0] =
        preference_loss(losses, batch.offsets, before, {.beta = beta_, .normalizer = 1}).item();
    const std::vector<PreferredPair> own = pair_log_probabilities(losses, batch.offsets);
    for (const double margin : preference_margins(own, before)) {
      sum[1] += margin > 0 ? 1 : 0;
      sum[2] += beta_ * margin;
    }
    sum[3] = static_cast<double>(std::ranges::count_if(
        own, [](const PreferredPair& pair) { return pair.chosen > pair.rejected; }));
  }
  add_across(processes, sums);
  for (std::size_t i = 0; i < sums.size(); i += 4) {
    const auto pairs = static_cast<double>(result.pairs);
    result.loss += sums[i] / pairs;
    result.accuracy += sums[i + 1] / pairs;
    result.margin += sums[i + 2] / pairs;
    result.likelier += sums[i + 3] / pairs;
  }
  return result;
}

Evaluation evaluate_preferences(const Gpt& model, const Gpt& reference, double beta,
                                const TokenDataset& dataset, const EvaluationOptions& options) {
  EvaluationOptions all = options;
  all.max_batches = 0;
  const Tensor before = PreferenceTuning(reference, beta).log_probabilities(dataset, all);
  return PreferenceTuning(model, beta).evaluate(dataset, before, options);
}

}  // namespace headlight
