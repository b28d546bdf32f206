#include "headlight/train/preference_tuning.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "headlight/autograd/autograd.h"
#include "headlight/datasets/batches/sequential_batches.h"
#include "headlight/ops/cross_entropy.h"

namespace headlight {
namespace {

// Returns a number for the tokens and targets of sequence `s` of a batch.
std::size_t key_of(const Batch& batch, Index s) {
  const auto bytes_of = [&](const Tensor& ids) {
    const Index begin = batch.offsets[static_cast<std::size_t>(s)];
    const Index end = batch.offsets[static_cast<std::size_t>(s) + 1];
    return std::string_view(reinterpret_cast<const char*>(ids.data<std::int32_t>() + begin),
                            static_cast<std::size_t>(end - begin) * sizeof(std::int32_t));
  };
  const std::hash<std::string_view> hash;
  return hash(bytes_of(batch.tokens)) * 31 + hash(bytes_of(batch.targets));
}

SequentialBatches batches_of(const TokenDataset& dataset, const EvaluationOptions& options) {
  require(dataset.pairs, "[PreferenceTuning] expected a dataset of pairs of answers");
  return SequentialBatches(dataset, {.batch_size = options.batch_size})
      .at_most(options.max_batches);
}

Processes& processes_of(const EvaluationOptions& options) {
  return options.processes == nullptr ? alone() : *options.processes;
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

Tensor PreferenceTuning::add_reference(const TokenDataset& dataset,
                                       const EvaluationOptions& options) {
  const NoGrad no_grad;
  const SequentialBatches batches = batches_of(dataset, options);
  Processes& processes = processes_of(options);
  std::vector<double> values(2 * dataset.sequences.size());  // 0: of other processes
  for (Index i = processes.rank(); i < batches.count(); i += processes.count()) {
    auto next = values.begin() + 2 * i * options.batch_size;
    const Batch batch = batches.batch(i);
    for (const PreferredPair& pair :
         pair_log_probabilities(token_losses(batch, {}), batch.offsets)) {
      *next++ = pair.chosen;
      *next++ = pair.rejected;
    }
  }
  add_across(processes, values);
  const Tensor reference = Tensor::from(values, {std::ssize(dataset.sequences), 2});
  restore_reference(dataset, reference);
  return reference;
}

void PreferenceTuning::restore_reference(const TokenDataset& dataset, const Tensor& reference) {
  const Index pairs = std::ssize(dataset.sequences);
  require(reference.dtype() == DType::float64 && reference.shape() == Shape({pairs, 2}),
          "reference: expected log-probabilities of ", pairs, " pairs, got ", reference.shape(),
          "; the pairs of a run cannot be changed, start a new one");
  const SequentialBatches batches = batches_of(dataset, {});
  const double* next = reference.data<double>();
  for (Index i = 0; i < batches.count(); ++i) {
    const Batch batch = batches.batch(i);
    for (Index s = 0; s < batch.sequence_count(); ++s) {
      reference_[key_of(batch, s)] = *next++;
    }
  }
}

std::vector<PreferredPair> PreferenceTuning::reference_of(const Batch& batch) const {
  const auto find = [&](Index s) {
    const auto found = reference_.find(key_of(batch, s));
    require(found != reference_.end(), "[PreferenceTuning] a pair has no reference");
    return found->second;
  };
  std::vector<PreferredPair> pairs;
  for (Index s = 0; s + 1 < batch.sequence_count(); s += 2) {
    pairs.push_back({.chosen = find(s), .rejected = find(s + 1)});
  }
  return pairs;
}

Tensor PreferenceTuning::loss(const Batch& batch, const ForwardContext& context,
                              Index normalizer) const {
  return preference_loss(token_losses(batch, context), batch.offsets, reference_of(batch),
                         {.beta = beta_, .normalizer = normalizer});
}

Evaluation PreferenceTuning::evaluate(const TokenDataset& dataset,
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
    const std::vector<PreferredPair> reference = reference_of(batch);
    const Tensor losses = token_losses(batch, {});
    double* sum = sums.data() + 4 * i;
    sum[0] =
        preference_loss(losses, batch.offsets, reference, {.beta = beta_, .normalizer = 1}).item();
    const std::vector<PreferredPair> own = pair_log_probabilities(losses, batch.offsets);
    for (const double margin : preference_margins(own, reference)) {
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
  PreferenceTuning tuning(model, beta);
  tuning.restore_reference(dataset, PreferenceTuning(reference, beta).add_reference(dataset, all));
  return tuning.evaluate(dataset, options);
}

}  // namespace headlight
