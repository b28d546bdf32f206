#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "headlight/datasets/batches/sequential_batches.h"
#include "headlight/distributed/processes.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/effects/logit_metric.h"
#include "interpret/effects/forward_replay.h"
#include "interpret/layer_maps.h"

namespace headlight {

// Replacement in every pass, and the resulting losses.
struct AblationExperiment {
  Index first_layer = 0;  // lowest layer that the hook changes; see ForwardReplay::ends
  std::unique_ptr<ForwardHook> hook;
  std::vector<double> losses = {};  // sums over the targets of each document
};

// Measures the losses of a model over the data, unchanged and in every experiment. Model and data
// must outlive it. Several processes share the batches, and each ends with all losses.
class AblationWalk {
 public:
  AblationWalk(const LanguageModel& model, const TokenDataset& data, const AblationOptions& options)
      : model_(model),
        processes_(options.processes == nullptr ? alone() : *options.processes),
        bootstrap_(options.bootstrap),
        metric_(options.metric),
        batches_(data, {.batch_size = options.batch_size, .block_size = model.block_size()},
                 options.masking) {
    require_head(model);
    require_value(options.masking || is_causal(model), "masking",
                  "expected the hidden tokens, which a bidirectional model predicts");
    require_value(metric_ != MetricKind::logit_difference, "metric",
                  "logit_difference needs answers: use headlight patch, or another metric");
  }

  struct Observer {
    // Called before the experiments of a batch, to prepare replacement values.
    std::function<void(const ForwardReplay&, Index batch)> prepare = [](auto&&...) {};
    std::function<void(double share)> progress = [](double) {};
  };

  const SequentialBatches& batches() const { return batches_; }
  // Fills in the losses of the experiments and of the unchanged model. Layers below an experiment's
  // first layer are computed once for all experiments.
  void run(std::vector<AblationExperiment>& experiments, const Observer& observer);

  // Results, valid after run().
  const std::vector<double>& base() const { return base_; }  // loss of each document
  Index sequences() const { return std::ssize(base_); }
  Index tokens() const;  // targets
  // Mean over tokens of per-document sums, [documents].
  Interval mean(const std::vector<double>& sums) const;
  // Rise of each experiment's loss over the unchanged model's, paired by document.
  std::vector<Interval> rises(const std::vector<AblationExperiment>& experiments) const;

 private:
  // Sums of the metric over the targets of each document.
  std::vector<double> measured(const ForwardReplay& replay, const Tensor& ends) const;
  void measure_batch(Index index, std::vector<AblationExperiment>& experiments,
                     const Observer& observer);
  std::vector<DocumentSum> weighted(const std::vector<double>& sums) const;

  const LanguageModel& model_;
  Processes& processes_;
  BootstrapOptions bootstrap_;
  MetricKind metric_;
  SequentialBatches batches_;
  std::vector<double> base_;
  std::vector<double> targets_;  // of each document
};

}  // namespace headlight
