#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "headlight/cluster/processes.h"
#include "headlight/data/sequential_batches.h"
#include "headlight/heads/bootstrap.h"
#include "heads/effects/forward_replay.h"

namespace headlight {

// Something is replaced in every pass, and what that does to every document.
struct AblationExperiment {
  Index first_layer = 0;  // the lowest that the hook changes; see ForwardReplay::losses
  std::unique_ptr<ForwardHook> hook;
  std::vector<double> losses = {};  // sums over the targets of each document
};

// The losses of a model over the data, whole and in every experiment. Model and data must outlive
// it. Several processes take turns with the batches, and all have all losses in the end.
class AblationWalk {
 public:
  AblationWalk(const LanguageModel& model, const TokenDataset& data, Index batch_size,
               Processes& processes = alone())
      : model_(model),
        processes_(processes),
        batches_(data, {.batch_size = batch_size, .block_size = model.block_size()}) {}

  struct Observer {
    // Before the experiments of a batch, for what their hooks put in its place.
    std::function<void(const ForwardReplay&, Index batch)> prepare = {};
    std::function<void(double share)> progress = {};
  };

  const SequentialBatches& batches() const { return batches_; }
  // Fills in the losses of the experiments and those of the whole model. Layers below an
  // experiment's first are computed once for all.
  void run(std::vector<AblationExperiment>& experiments, const Observer& observer);

  // After run().
  const std::vector<double>& base() const { return base_; }  // loss of each document
  Index sequences() const { return std::ssize(base_); }
  Index tokens() const;  // targets
  // The mean over tokens of values that are sums over each document, [documents].
  Interval mean(const std::vector<double>& sums, const BootstrapOptions& bootstrap) const;
  // By how much each experiment's loss is above the whole model's, document by document.
  std::vector<Interval> rises(const std::vector<AblationExperiment>& experiments,
                              const BootstrapOptions& bootstrap) const;

 private:
  void measure_batch(Index index, std::vector<AblationExperiment>& experiments,
                     const Observer& observer);
  std::vector<DocumentSum> weighted(const std::vector<double>& sums) const;

  const LanguageModel& model_;
  Processes& processes_;
  SequentialBatches batches_;
  std::vector<double> base_;
  std::vector<double> targets_;  // of each document
};

}  // namespace headlight
