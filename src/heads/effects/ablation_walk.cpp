#include "heads/effects/ablation_walk.h"

namespace headlight {
namespace {

void append(const std::vector<double>& from, std::vector<double>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

void AblationWalk::run(std::vector<AblationExperiment>& experiments, const Observer& observer) {
  base_.clear();
  targets_.clear();
  const double all = static_cast<double>(batches_.count() * std::ssize(experiments));
  double done = 0;
  for (Index i = 0; i < batches_.count(); ++i) {
    const ForwardReplay replay(model_, batches_.batch(i));
    append(replay.losses(), base_);
    append(replay.targets(), targets_);
    if (observer.prepare) {
      observer.prepare(replay, i);
    }
    for (AblationExperiment& experiment : experiments) {
      append(replay.losses(experiment.first_layer, *experiment.hook), experiment.losses);
      if (observer.progress) {
        observer.progress(++done / all);
      }
    }
  }
}

Index AblationWalk::tokens() const {
  Index tokens = 0;
  for (const double targets : targets_) {
    tokens += static_cast<Index>(targets);
  }
  return tokens;
}

std::vector<DocumentSum> AblationWalk::weighted(const std::vector<double>& sums) const {
  std::vector<DocumentSum> documents;
  for (std::size_t d = 0; d < sums.size(); ++d) {
    documents.push_back({sums[d], targets_[d]});
  }
  return documents;
}

Interval AblationWalk::mean(const std::vector<double>& sums,
                            const BootstrapOptions& bootstrap) const {
  return bootstrap_mean(weighted(sums), bootstrap);
}

std::vector<Interval> AblationWalk::rises(const std::vector<AblationExperiment>& experiments,
                                          const BootstrapOptions& bootstrap) const {
  std::vector<std::vector<DocumentSum>> measures;
  for (const AblationExperiment& experiment : experiments) {
    std::vector<double> rises = experiment.losses;
    for (std::size_t d = 0; d < rises.size(); ++d) {
      rises[d] -= base_[d];
    }
    measures.push_back(weighted(rises));
  }
  return bootstrap_means(measures, bootstrap);
}

}  // namespace headlight
